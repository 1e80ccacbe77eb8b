// Text for people's eyes: what is invisible, or would make other text look different, is spelled out.

/** A piece of a text: as it is, or a spelled-out character. */
export interface Piece {
  readonly text: string;
  readonly spelled: boolean;
}

/** Controls (but for tab and line feed), format and private characters, odd spaces, lone surrogates, line separators. */
const HIDDEN =
  /[\u0000-\u0008\u000B-\u001F\u007F-\u00A0\u00AD\u034F\u061C\u115F\u1160\u1680\u17B4\u17B5\u180B-\u180F\u2000-\u200F\u2028-\u202F\u205F-\u206F\u2800\u3164\uFE00-\uFE0F\uFEFF\uFFA0\uFFF0-\uFFFB\p{Cs}\p{Co}\u{1BCA0}-\u{1BCA3}\u{1D173}-\u{1D17A}\u{E0000}-\u{E0FFF}]/gu;

function spelling(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  if (code === 0x0d) return '\\r';
  return `\\u{${code.toString(16).padStart(4, '0')}}`;
}

/** Cuts a text into what can be shown as it is and what is spelled out. Joined they are the whole text. */
export function pieces(text: string): Piece[] {
  const found: Piece[] = [];
  let from = 0;
  for (const match of text.matchAll(HIDDEN)) {
    if (match.index > from) found.push({ text: text.slice(from, match.index), spelled: false });
    found.push({ text: spelling(match[0]), spelled: true });
    from = match.index + match[0].length;
  }
  if (from < text.length) found.push({ text: text.slice(from), spelled: false });
  return found;
}

/** The same as plain text. */
export function visible(text: string): string {
  return pieces(text)
    .map((piece) => piece.text)
    .join('');
}

/** One line for titles and lists: line ends are spelled out too. */
export function oneLine(text: string): string {
  return visible(text).replaceAll('\n', '\\n').replaceAll('\t', ' ');
}

/** Cuts a text into lines of at most `width` UTF-16 units, at spaces where there are some. Nothing is lost. */
export function wrapped(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const paragraph of visible(text).split('\n')) {
    let line = '';
    for (const word of paragraph.split(/(?<= )/)) {
      if (line !== '' && (line + word).trimEnd().length > width) {
        lines.push(line.trimEnd());
        line = '';
      }
      line += word;
      while (line.length > width) {
        lines.push(line.slice(0, width));
        line = line.slice(width);
      }
    }
    lines.push(line.trimEnd());
  }
  return lines;
}

/** For HTML, as content and as the value of an attribute in quotes. */
export function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
}

/** A text as HTML with what is invisible spelled out and marked. */
export function html(text: string): string {
  return pieces(text)
    .map((piece) => (piece.spelled ? `<span class="hidden">${escaped(piece.text)}</span>` : escaped(piece.text)))
    .join('');
}
