// Cuts what a process prints into lines.
import { StringDecoder } from 'node:string_decoder';

/** So much of a line without an end is kept together (UTF-16 units). */
const LONGEST = 16_384;

/** Takes pieces of UTF-8, cut anywhere, and tells each line as soon as it is complete, without its end. */
export function lineReader(tell: (line: string) => void): (piece: Buffer) => void {
  const decoder = new StringDecoder('utf8');
  let rest = '';
  return (piece) => {
    rest += decoder.write(piece);
    const lines = rest.split(/\r?\n/);
    rest = lines.pop() ?? '';
    for (const line of lines) if (line !== '') tell(line);
    if (rest.length > LONGEST) {
      tell(rest);
      rest = '';
    }
  };
}
