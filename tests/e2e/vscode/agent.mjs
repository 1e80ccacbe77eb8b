// An agent whose pane is in the window: what it asks of our extension, and what it gets.

/** Sends a request of the protocol through the extension's interface. */
export function request(code, method, params = {}) {
  return code.run(async (_vscode, pane, method, params) => (await pane.api()).request(method, params), method, params);
}

/** Runs a call and waits for its result. */
export function call(code, name, args, more = {}) {
  return code.run(async (_vscode, pane, params) => (await pane.api()).call(params), { name, arguments: args, ...more });
}

/** Begins a call that waits for somebody; `ended` has its result. */
export async function begin(code, callId, name, args, more = {}) {
  const params = { callId, name, arguments: args, ...more };
  await code.run(
    async (_vscode, pane, params) => pane.begin(params.callId, (await pane.api()).call(params)),
    params,
  );
}

/** Waits for the result of a call that was begun. */
export async function ended(code, callId) {
  const { value, error } = await code.until(`the end of ${callId}`, () =>
    code.run((_vscode, pane, callId) => pane.ended(callId), callId),
  );
  if (error) throw new Error(`${callId}: ${error}`);
  return value;
}

/** Whether a call that was begun has not ended. */
export async function waits(code, callId) {
  return (await code.run((_vscode, pane, callId) => pane.ended(callId), callId)) === null;
}

/** The text of a result. */
export function text(result) {
  return result.content.map((piece) => piece.text ?? '').join('\n');
}
