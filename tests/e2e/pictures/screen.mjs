// The screen of a Neovim as a UI sees it, made from its `redraw` events, and as HTML.

export class Screen {
  #cells = [];
  #styles = new Map([[0, {}]]);
  #colours = { foreground: 0xd0d0d0, background: 0x14161b, special: 0xff0000 };
  #cursor = [0, 0];
  #shape = 'block';
  #shapes = [];

  /** Takes the arguments of one `redraw` notification. Gives whether the screen is complete. */
  take(events) {
    let complete = false;
    for (const [name, ...calls] of events) {
      complete ||= name === 'flush';
      for (const call of calls) this[`on_${name}`]?.(...call);
    }
    return complete;
  }

  on_grid_resize(_grid, width, height) {
    const old = this.#cells;
    const cell = (row, column) => old[row]?.[column] ?? { text: ' ', style: 0 };
    this.#cells = Array.from({ length: height }, (_, row) => Array.from({ length: width }, (_, column) => cell(row, column)));
  }

  on_grid_clear() {
    for (const row of this.#cells) row.fill({ text: ' ', style: 0 });
  }

  on_default_colors_set(foreground, background, special) {
    this.#colours = { foreground, background, special };
  }

  on_hl_attr_define(id, rgb) {
    this.#styles.set(id, rgb);
  }

  on_grid_line(_grid, row, column, cells) {
    let style = 0;
    for (const [text, id, times = 1] of cells) {
      style = id ?? style;
      for (let time = 0; time < times; time += 1) this.#cells[row][column++] = { text, style };
    }
  }

  on_grid_scroll(_grid, top, bottom, left, right, rows) {
    const copy = this.#cells.map((row) => row.slice());
    for (let row = top; row < bottom; row += 1) {
      const from = row + rows;
      if (from < top || from >= bottom) continue;
      for (let column = left; column < right; column += 1) this.#cells[row][column] = copy[from][column];
    }
  }

  on_grid_cursor_goto(_grid, row, column) {
    this.#cursor = [row, column];
  }

  on_mode_info_set(_enabled, shapes) {
    this.#shapes = shapes;
  }

  on_mode_change(_mode, index) {
    this.#shape = this.#shapes[index]?.cursor_shape ?? 'block';
  }

  /** What is to be read, a text a row. */
  text() {
    return this.#cells.map((row) => row.map((cell) => cell.text).join('').trimEnd()).join('\n');
  }

  #css(id, isCursor) {
    const style = this.#styles.get(id) ?? {};
    let [foreground, background] = [style.foreground ?? this.#colours.foreground, style.background ?? this.#colours.background];
    if (Boolean(style.reverse) !== (isCursor && this.#shape === 'block')) [foreground, background] = [background, foreground];
    const colour = (value) => `#${value.toString(16).padStart(6, '0')}`;
    const css = [`color:${colour(foreground)}`, `background:${colour(background)}`];
    if (style.bold) css.push('font-weight:bold');
    if (style.italic) css.push('font-style:italic');
    const line = ['underline', 'undercurl', 'underdouble', 'underdotted', 'underdashed'].find((name) => style[name]);
    const kinds = { undercurl: 'wavy', underdouble: 'double', underdotted: 'dotted', underdashed: 'dashed' };
    if (line) css.push(`text-decoration:underline ${kinds[line] ?? 'solid'} ${colour(style.special ?? foreground)} 1px`);
    if (style.strikethrough) css.push('text-decoration:line-through');
    if (isCursor && this.#shape !== 'block') css.push(`box-shadow:inset 2px 0 ${colour(this.#colours.foreground)}`);
    return css.join(';');
  }

  /** The screen as a page whose `pre` is exactly as large as the screen. */
  html() {
    const escape = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
    const rows = this.#cells.map((row, number) => {
      let html = '';
      for (let column = 0; column < row.length; ) {
        const { style } = row[column];
        const isCursor = number === this.#cursor[0] && column === this.#cursor[1];
        const begin = column;
        let text = '';
        // Cells of one style are one piece; the cursor's is one of its own, as is every character beyond Latin, whose
        // width in the font may not be that of its cells.
        do {
          text += row[column].text;
          column += 1;
          while (row[column]?.text === '') column += 1;
        } while (
          !isCursor && column < row.length && row[column].style === style && /^[ -\u024f]*$/.test(text + row[column].text)
          && !(number === this.#cursor[0] && column === this.#cursor[1])
        );
        html += `<span style="width:${column - begin}ch;${this.#css(style, isCursor)}">${escape(text)}</span>`;
      }
      return `<div>${html}</div>`;
    });
    const css = 'body{margin:0}pre{margin:0;display:inline-block;font:15px/19px "DejaVu Sans Mono",monospace}'
      + 'div{height:19px;white-space:pre}span{display:inline-block;height:19px;overflow:hidden;vertical-align:top}';
    return `<!doctype html><meta charset="utf-8"><style>${css}</style><pre>${rows.join('')}</pre>`;
  }
}
