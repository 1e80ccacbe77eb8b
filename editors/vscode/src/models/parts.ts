// Our contents as VS Code's parts, and back. Pictures go where the interface of this VS Code has them.
import * as vscode from 'vscode';
import type { Content } from '../protocol';

/** `LanguageModelDataPart`, which newer VS Codes have and the declarations we build against lack. */
interface DataParts {
  image(data: Uint8Array, mimeType: string): unknown;
}

const dataParts = (vscode as unknown as { LanguageModelDataPart?: DataParts }).LanguageModelDataPart;

/** Whether pictures can be handed to models here. */
export const PICTURES = dataParts !== undefined;

/** What a model gets of a content. */
export function parts(content: readonly Content[]): unknown[] {
  return content.map((part) => {
    if (part.type === 'text') return new vscode.LanguageModelTextPart(part.text);
    if (dataParts) return dataParts.image(Buffer.from(part.data, 'base64'), part.mimeType);
    return new vscode.LanguageModelTextPart(`[a picture (${part.mimeType}), which this VS Code cannot hand over]`);
  });
}

/** All that a content says in words. */
export function text(content: readonly Content[]): string {
  return content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n');
}
