// VS Code's own extensions that check documents as they are typed, and say nothing of one that is fine: that there is such
// a source has to be known beforehand, or the silence before it has looked would pass for that of nobody.

/** An extension that checks a language, and what its problems come under. */
export interface Checker {
  readonly extension: string;
  /** The setting that turns it off. */
  readonly setting: string;
  readonly source: string;
}

const JSON_FEATURES = 'vscode.json-language-features';
const CSS_FEATURES = 'vscode.css-language-features';
const HTML_FEATURES = 'vscode.html-language-features';

/** What in a page makes it be checked as something else. */
const PARTS = [
  { tag: /<script\b/i, setting: 'html.validate.scripts', source: 'javascript' },
  { tag: /<style\b/i, setting: 'html.validate.styles', source: 'css' },
];

/** Those that look at a document of this language with this text, where they are there and not turned off. */
export function checkersOf(language: string, text: () => string): Checker[] {
  switch (language) {
    case 'json':
    case 'jsonc':
      return [{ extension: JSON_FEATURES, setting: 'json.validate.enable', source: language }];
    case 'css':
    case 'scss':
    case 'less':
      return [{ extension: CSS_FEATURES, setting: `${language}.validate`, source: language }];
    case 'html': {
      const page = text();
      return PARTS.filter(({ tag }) => tag.test(page)).map(({ setting, source }) => ({
        extension: HTML_FEATURES,
        setting,
        source,
      }));
    }
    default:
      return [];
  }
}

/** The sections of the settings that turn them on and off. */
export const SECTIONS = ['json.validate', 'css.validate', 'scss.validate', 'less.validate', 'html.validate'] as const;
