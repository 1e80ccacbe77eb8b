// A tree of VS Code's over entries that are computed as a whole: drawn again at most once a moment, and only when it
// shows.
import * as vscode from 'vscode';
import { parsed } from '../named';
import type { Entry } from './trees';

/** Changes of so long (ms) become one drawing. */
const TOGETHER_MS = 80;

export class EntryTree implements vscode.Disposable, vscode.TreeDataProvider<Entry> {
  private readonly changed = new vscode.EventEmitter<void>();
  readonly onDidChangeTreeData = this.changed.event;
  readonly view: vscode.TreeView<Entry>;
  private timer: NodeJS.Timeout | undefined;
  private parents = new Map<string, Entry>();

  constructor(
    id: string,
    private readonly entries: () => Entry[],
    private readonly badge?: () => { value: number; tooltip: string },
  ) {
    this.view = vscode.window.createTreeView(id, { treeDataProvider: this, showCollapseAll: false });
  }

  dispose(): void {
    clearTimeout(this.timer);
    this.view.dispose();
    this.changed.dispose();
  }

  /** Something is different: draws it, soon. */
  refresh(): void {
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      const badge = this.badge?.();
      this.view.badge = badge && badge.value > 0 ? badge : undefined;
      this.changed.fire();
    }, TOGETHER_MS);
  }

  getChildren(entry?: Entry): Entry[] {
    if (entry) return entry.children ?? [];
    const roots = this.entries();
    this.parents = new Map();
    const note = (parent: Entry) => {
      for (const child of parent.children ?? []) {
        this.parents.set(child.id, parent);
        note(child);
      }
    };
    for (const root of roots) note(root);
    return roots;
  }

  getParent(entry: Entry): Entry | undefined {
    return this.parents.get(entry.id);
  }

  getTreeItem(entry: Entry): vscode.TreeItem {
    const state = entry.children ? vscode.TreeItemCollapsibleState.Expanded : vscode.TreeItemCollapsibleState.None;
    const item = new vscode.TreeItem(entry.label, state);
    item.id = entry.id;
    if (entry.description !== undefined) item.description = entry.description;
    if (entry.tooltip !== undefined) item.tooltip = entry.tooltip;
    if (entry.context !== undefined) item.contextValue = entry.context;
    if (entry.icon !== undefined) item.iconPath = new vscode.ThemeIcon(entry.icon);
    if (entry.file !== undefined) {
      item.resourceUri = parsed(entry.file);
      item.iconPath = vscode.ThemeIcon.File;
    }
    if (entry.command) item.command = { title: 'Show', ...entry.command };
    item.accessibilityInformation = {
      label: [entry.spoken ?? entry.label, entry.spoken ? '' : (entry.description ?? '')]
        .filter((it) => it !== '')
        .join(', '),
    };
    return item;
  }
}
