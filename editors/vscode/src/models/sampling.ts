// What an MCP server asks a model (MCP's `sampling/createMessage`) as a conversation, and the answer in MCP's shape.
// Plain functions over data; nothing here knows an editor.
import type { Turn } from './loop';

/** What was asked, or why it cannot be. */
export type Asked = { turns: Turn[]; shown: string } | { fault: string };

function words(content: unknown): string | undefined {
  const blocks = Array.isArray(content) ? content : [content];
  const texts = blocks.map((block: unknown) => {
    const { type, text } = (block ?? {}) as { type?: unknown; text?: unknown };
    return type === 'text' && typeof text === 'string' ? text : undefined;
  });
  return texts.every((it) => it !== undefined) ? texts.join('\n') : undefined;
}

/** The conversation that a request holds. Only words are passed on; a picture or a sound is a fault. */
export function asked(request: unknown): Asked {
  const { messages, systemPrompt } = (request ?? {}) as { messages?: unknown; systemPrompt?: unknown };
  if (!Array.isArray(messages) || messages.length === 0) return { fault: 'the request has no messages' };
  const turns: Turn[] = [];
  if (typeof systemPrompt === 'string' && systemPrompt !== '') turns.push({ role: 'user', text: systemPrompt });
  for (const message of messages as { role?: unknown; content?: unknown }[]) {
    const text = words(message.content);
    if (text === undefined) return { fault: 'only text can be handed to the model' };
    if (message.role === 'assistant') turns.push({ role: 'assistant', text, calls: [] });
    else turns.push({ role: 'user', text });
  }
  const shown = turns.map((turn) => `${turn.role}: ${'text' in turn ? turn.text : ''}`).join('\n\n');
  return { turns, shown };
}

/** The result of `sampling/createMessage`. */
export function answered(text: string, model: string): Record<string, unknown> {
  return { role: 'assistant', content: { type: 'text', text }, model, stopReason: 'endTurn' };
}
