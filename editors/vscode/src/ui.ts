// Review, side view, language model tools, agents and the MCP server definition, put together.
import type * as vscode from 'vscode';
import { registerAgents } from './models/agent';
import { registerMcpServer } from './models/mcp';
import { PICTURES } from './models/parts';
import { registerLanguageModelTools } from './models/tools';
import type { Questions } from './person/ask';
import { registerReview } from './review';
import type { Sidecar } from './sidecar';
import { registerViews, type Views } from './views';

export interface Ui {
  readonly views: Views;
  /** Resolves once all is known that is declared to the sidecar. To be awaited before it starts; never long. */
  ready(): Promise<void>;
}

/** Registers all of it. To be called before the sidecar starts. */
export function registerUi(context: vscode.ExtensionContext, sidecar: Sidecar, questions: Questions): Ui {
  sidecar.registerBeforeStart((capabilities) => {
    capabilities.images = PICTURES;
  });
  const review = registerReview(context, sidecar);
  const views = registerViews(context, sidecar, review);
  registerLanguageModelTools(context, sidecar, views);
  registerMcpServer(context, sidecar);
  return { views, ...registerAgents(context, sidecar, views, questions) };
}
