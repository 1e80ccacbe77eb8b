// The page on which a person is asked for consent: everything there is to know about the calls, nothing left out, and
// nothing on it that could run, load or hide anything. Pure: text in, HTML out.
import type { ApproveCall, ApproveParams, Consent } from '../protocol';
import { escaped, html, oneLine } from '../text';

/** What the page needs to be shown. */
export interface Frame {
  /** Comes back with the answer, which is one to this page alone. */
  readonly id: string;
  /** For the content security policy: where style and script may come from. */
  readonly cspSource: string;
  readonly nonce: string;
  readonly styleUri: string;
  readonly scriptUri: string;
}

/** How the parts of a unified diff look. */
function diffClass(line: string): string {
  if (line.startsWith('+++') || line.startsWith('---')) return 'file';
  if (line.startsWith('@@')) return 'hunk';
  if (line.startsWith('+')) return 'added';
  if (line.startsWith('-')) return 'removed';
  return line.startsWith('\\') ? 'note' : 'same';
}

/** A diff, line by line, whole. Where a hunk ends is counted, so that no content can pass for a header. */
export function diff(text: string): string {
  let before = 0;
  let after = 0;
  const lines = text.replace(/\n$/, '').split('\n');
  const shown = lines.map((line) => {
    let kind: string;
    if (before > 0 || after > 0) {
      kind = line.startsWith('+')
        ? 'added'
        : line.startsWith('-')
          ? 'removed'
          : line.startsWith('\\')
            ? 'note'
            : 'same';
      if (kind === 'added' || kind === 'same') after -= 1;
      if (kind === 'removed' || kind === 'same') before -= 1;
    } else {
      kind = diffClass(line);
      const head = /^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@/.exec(line);
      if (head) {
        before = Number(head[1] ?? 1);
        after = Number(head[2] ?? 1);
      }
    }
    return `<span class="${kind}">${html(line)}\n</span>`;
  });
  return `<pre class="diff">${shown.join('')}</pre>`;
}

function value(given: unknown): string {
  if (typeof given === 'string' && given.includes('\n')) {
    const lines = given.split('\n').length;
    return `<span class="note">text, ${lines} lines</span><pre>${html(given)}</pre>`;
  }
  return `<pre>${html(JSON.stringify(given, null, 2) ?? 'undefined')}</pre>`;
}

/** The arguments of a call, each whole; texts of several lines as they read. */
export function argumentsOf(given: unknown): string {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return value(given);
  const entries = Object.entries(given);
  if (entries.length === 0) return '<p class="note">none</p>';
  return `<dl>${entries.map(([name, content]) => `<dt>${html(oneLine(name))}</dt><dd>${value(content)}</dd>`).join('')}</dl>`;
}

const button = (consent: Consent, label: string, title: string) =>
  `<button type="button" data-consent="${consent}" title="${escaped(title)}">${label}</button>`;

const suggested = (rule: string) =>
  `<p class="rule">The rule that would allow it in your settings (<code>permissions.allow</code>):
<code>${html(rule)}</code> <button type="button" class="link" data-copy="${escaped(rule)}">Copy</button></p>`;

function call(one: ApproveCall, index: number, single: boolean): string {
  const rule = one.suggestedRule;
  const always = rule
    ? `Calls like it, in this workspace, from now on: what the rule ${rule} allows`
    : 'Calls like it, in this workspace, from now on';
  return `<section class="call" data-index="${index}" data-call="${escaped(one.callId)}" aria-labelledby="name-${index}">
<h2 id="name-${index}">${html(oneLine(one.name))} <span class="risk ${escaped(one.risk)}">${escaped(one.risk)} risk</span></h2>
<p class="reason">${html(one.reason)}</p>
<h3>It reaches</h3>
<ul class="targets">${one.targets.map((target) => `<li><code>${html(target)}</code></li>`).join('') || '<li class="note">nothing by name</li>'}</ul>
${one.diff ? `<h3>What it changes</h3>${diff(one.diff)}` : ''}
<h3>Its arguments</h3>
${argumentsOf(one.arguments)}
<div class="answers" role="group" aria-label="Your answer">
${button('deny', 'Deny', 'It does not run')}
${button('once', 'Allow once', 'This call alone')}
${button('session', 'Allow in this session', 'Calls like it, in this session')}
${button('always', 'Always allow', always)}
</div>
${rule ? suggested(rule) : ''}
<p class="words"><label for="words-${index}">Say why, for the model (goes with a no)</label>
<textarea id="words-${index}" rows="2"></textarea>
<button type="button" data-consent="deny" data-words="words-${index}">Deny with these words</button></p>
${single ? '' : '<p class="state" role="status">Not decided: counts as a no</p>'}
</section>`;
}

/** The page for one request. `waiting`: how many more wait after it. */
export function page(params: ApproveParams, waiting: number, frame: Frame): string {
  const { calls } = params;
  const single = calls.length === 1;
  const policy = `default-src 'none'; style-src ${frame.cspSource}; script-src 'nonce-${frame.nonce}'`;
  const batch = `<div class="batch"><button type="button" data-all="deny">Deny all</button>
<button type="button" data-all="once">Allow all once</button>
<button type="button" data-send>Answer as chosen</button></div>`;
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="UTF-8">
<meta http-equiv="Content-Security-Policy" content="${escaped(policy)}">
<meta name="viewport" content="width=device-width, initial-scale=1.0">
<link rel="stylesheet" href="${escaped(frame.styleUri)}">
<title>Ropewalk asks</title>
</head>
<body data-id="${escaped(frame.id)}" data-single="${String(single)}">
<header><h1>${single ? 'An agent asks whether it may run this' : `An agent asks whether it may run these ${calls.length} calls`}</h1>
<p>Session <code>${html(oneLine(params.sessionId))}</code>${waiting > 0 ? `; ${waiting} more ${waiting === 1 ? 'question waits' : 'questions wait'}` : ''}.
Closing this page is a no.</p></header>
${calls.map((one, index) => call(one, index, single)).join('\n')}
${single ? '' : batch}
<script nonce="${frame.nonce}" src="${escaped(frame.scriptUri)}"></script>
</body>
</html>`;
}
