// The script of the page that asks for consent. Keys and clicks count for nothing for the first 300 ms after the page
// is shown, and after it gets the keyboard: they were meant for something else.
(function () {
  'use strict';
  const vscode = acquireVsCodeApi();
  const GUARD_MS = 300;
  const single = document.body.dataset.single === 'true';
  const answers = new Map();
  let from = performance.now() + GUARD_MS;
  let sent = false;

  const early = () => performance.now() < from;
  const stop = (event) => {
    if (!early()) return;
    event.preventDefault();
    event.stopImmediatePropagation();
  };
  for (const kind of ['keydown', 'keypress', 'keyup', 'click', 'mousedown', 'beforeinput'])
    window.addEventListener(kind, stop, { capture: true });

  const first = () => document.querySelector(single ? '.call [data-consent="deny"]' : '[data-all="deny"]');
  const welcome = () => {
    from = Math.max(from, performance.now() + GUARD_MS);
    const active = document.activeElement;
    if (!active || active === document.body) first().focus({ preventScroll: true });
  };
  window.addEventListener('focus', welcome);
  if (document.hasFocus()) welcome();

  const send = () => {
    if (sent) return;
    sent = true;
    document.body.classList.add('sent');
    vscode.postMessage({ kind: 'answer', id: document.body.dataset.id, answers: [...answers.values()] });
  };
  const choose = (section, consent, words) => {
    const index = Number(section.dataset.index);
    answers.set(index, words ? { index, consent, words } : { index, consent });
    for (const other of section.querySelectorAll('.answers [data-consent]'))
      other.setAttribute('aria-pressed', String(other.dataset.consent === consent));
    const state = section.querySelector('.state');
    if (state) state.textContent = { deny: 'Denied', once: 'Allowed once', session: 'Allowed in this session', always: 'Always allowed' }[consent];
  };

  document.addEventListener('click', (event) => {
    const button = event.target instanceof Element ? event.target.closest('button') : null;
    if (!button || sent || early()) return;
    const { consent, words, all, copy } = button.dataset;
    const section = button.closest('.call');
    if (copy !== undefined) vscode.postMessage({ kind: 'copy', text: copy });
    else if (consent && section) {
      choose(section, consent, words ? document.getElementById(words).value : '');
      if (single) send();
    } else if (all) {
      for (const each of document.querySelectorAll('.call')) choose(each, all, '');
      send();
    } else if (button.hasAttribute('data-send')) send();
  });
})();
