// What an MCP server asks for by a form: the JSON Schema of plain fields as steps, and the answers as their values.
import type { Answer, Step } from './steps';

/** A field: its step, and what its answer means. */
export interface Field {
  readonly name: string;
  readonly step: Step;
  /** The value, or undefined where the answer is none. */
  readonly value: (answer: Answer) => unknown;
}

type Schema = Record<string, unknown>;

const isSchema = (value: unknown): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const text = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
const number = (value: unknown): number | undefined => (typeof value === 'number' ? value : undefined);

/** Values to choose from, with their names for people. */
function choices(schema: Schema): { value: unknown; label: string }[] | undefined {
  const branches = [schema['oneOf'], schema['anyOf']].find(Array.isArray) as unknown[] | undefined;
  if (branches?.every((branch) => isSchema(branch) && 'const' in branch))
    return (branches as Schema[]).map((branch) => ({
      value: branch['const'],
      label: text(branch['title']) ?? String(branch['const']),
    }));
  const values = schema['enum'];
  if (!Array.isArray(values)) return undefined;
  const names = Array.isArray(schema['enumNames']) ? (schema['enumNames'] as unknown[]) : [];
  return values.map((value: unknown, index) => ({ value, label: text(names[index]) ?? String(value) }));
}

const FORMATS: Record<string, [RegExp, string]> = {
  email: [/^[^@\s]+@[^@\s]+$/, 'an e-mail address'],
  uri: [/^[a-z][a-z0-9+.-]*:\S+$/i, 'an address such as https://example.org'],
  date: [/^\d{4}-\d{2}-\d{2}$/, 'a date such as 2026-01-31'],
  'date-time': [
    /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$/i,
    'a moment such as 2026-01-31T12:00:00Z',
  ],
};

/** Why a text does not fit a field of texts. */
function textFault(schema: Schema, given: string): string | undefined {
  const { length } = [...given];
  const least = number(schema['minLength']);
  const most = number(schema['maxLength']);
  if (least !== undefined && length < least) return `At least ${least} characters`;
  if (most !== undefined && length > most) return `At most ${most} characters`;
  const format = FORMATS[text(schema['format']) ?? ''];
  if (format && !format[0].test(given)) return `This has to be ${format[1]}`;
  const pattern = text(schema['pattern']);
  if (pattern !== undefined) {
    try {
      if (!new RegExp(pattern, 'u').test(given)) return `This has to fit ${pattern}`;
    } catch {
      // A pattern that cannot be read holds nobody up; the server looks at the answer itself.
    }
  }
  return undefined;
}

/** Why a text does not fit a field of numbers. */
function numberFault(schema: Schema, given: string): string | undefined {
  const value = Number(given.trim());
  if (given.trim() === '' || !Number.isFinite(value)) return 'This has to be a number';
  if (schema['type'] === 'integer' && !Number.isInteger(value)) return 'This has to be a whole number';
  const least = number(schema['minimum']);
  const most = number(schema['maximum']);
  if (least !== undefined && value < least) return `At least ${least}`;
  if (most !== undefined && value > most) return `At most ${most}`;
  return undefined;
}

function field(name: string, schema: Schema, required: boolean): Field {
  const label = text(schema['title']) ?? name;
  const description = text(schema['description']);
  const base = { title: label, question: description ?? label, optional: !required };
  const initial = schema['default'] === undefined ? {} : { initial: String(schema['default']) };
  const pick = (found: { value: unknown; label: string }[], multiple: boolean): Step => ({
    ...base,
    options: found.map((choice) => ({ label: choice.label })),
    multiple,
    custom: false,
  });
  if (schema['type'] === 'boolean') {
    const step = pick(
      [
        { value: true, label: 'Yes' },
        { value: false, label: 'No' },
      ],
      false,
    );
    return { name, step, value: ({ selected }) => selected[0] === 0 };
  }
  const items = isSchema(schema['items']) ? choices(schema['items']) : undefined;
  if (schema['type'] === 'array' && items) {
    const least = number(schema['minItems']) ?? 0;
    const most = number(schema['maxItems']) ?? items.length;
    const fault = ({ selected }: Answer) =>
      selected.length < least
        ? `Choose at least ${least}`
        : selected.length > most
          ? `Choose at most ${most}`
          : undefined;
    return {
      name,
      step: { ...pick(items, true), fault },
      value: ({ selected }) => selected.map((at) => items[at]?.value),
    };
  }
  const found = choices(schema);
  if (found) return { name, step: pick(found, false), value: ({ selected }) => found[selected[0] ?? -1]?.value };
  const free = { ...base, ...initial, options: [], multiple: false, custom: true };
  if (schema['type'] === 'number' || schema['type'] === 'integer')
    return {
      name,
      step: { ...free, fault: (answer) => numberFault(schema, answer.text ?? '') },
      value: (answer) => Number((answer.text ?? '').trim()),
    };
  return {
    name,
    step: { ...free, fault: (answer) => textFault(schema, answer.text ?? '') },
    value: (answer) => answer.text ?? '',
  };
}

/** The fields of a form, in their order; undefined where the schema is none of plain fields. */
export function fields(schema: unknown): Field[] | undefined {
  if (!isSchema(schema) || !isSchema(schema['properties'])) return undefined;
  const required = new Set(Array.isArray(schema['required']) ? (schema['required'] as unknown[]) : []);
  const found: Field[] = [];
  for (const [name, property] of Object.entries(schema['properties'])) {
    if (!isSchema(property)) return undefined;
    const plain = choices(property) ?? ['string', 'number', 'integer', 'boolean'].includes(String(property['type']));
    const list = property['type'] === 'array' && isSchema(property['items']) && choices(property['items']);
    if (!plain && !list) return undefined;
    found.push(field(name, property, required.has(name)));
  }
  return found;
}

/** The content of a form that was filled in. Fields without an answer are left out. */
export function content(of: readonly Field[], answers: readonly (Answer | null)[]): Record<string, unknown> {
  const filled: Record<string, unknown> = {};
  of.forEach(({ name, value }, index) => {
    const answer = answers[index];
    const given = answer ? value(answer) : undefined;
    if (given !== undefined) filled[name] = given;
  });
  return filled;
}
