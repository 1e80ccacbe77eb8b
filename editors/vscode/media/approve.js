// The script of the page that asks for consent. Keys and clicks count for nothing for the first 300 ms after the page
// is shown, nor do keys after it gets the keyboard: they were meant for something else.
(function () {
  'use strict';
  const vscode = acquireVsCodeApi();
  const GUARD_MS = 300;
  const single = document.body.dataset.single === 'true';
  const answers = new Map();
  const shown = performance.now() + GUARD_MS;
  let keys = shown;
  let sent = false;

  const early = () => performance.now() < shown;
  const swallow = (event) => {
    event.preventDefault();
    event.stopImmediatePropagation();
  };
  for (const kind of ['mousedown', 'click', 'beforeinput'])
    window.addEventListener(kind, (event) => early() && swallow(event), { capture: true });
  for (const kind of ['keydown', 'keypress', 'keyup'])
    window.addEventListener(kind, (event) => performance.now() < keys && swallow(event), { capture: true });

  // Who comes by the keyboard finds the no; who comes by the mouse is where they clicked.
  const first = () => document.querySelector(single ? '.call [data-consent="deny"]' : '[data-all="deny"]');
  const welcome = () => {
    keys = Math.max(keys, performance.now() + GUARD_MS);
    setTimeout(() => {
      const active = document.activeElement;
      if (document.hasFocus() && (!active || active === document.body)) first().focus({ preventScroll: true });
    }, 50);
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
    if (state)
      state.textContent = {
        deny: 'Denied',
        once: 'Allowed once',
        session: 'Allowed in this session',
        always: 'Always allowed',
      }[consent];
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
