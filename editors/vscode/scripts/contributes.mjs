// Writes the side view's, the review's and the models' part of package.json. `node scripts/contributes.mjs [--check]`;
// with
// --check nothing is written, and the exit code is 1 where something would change. What others put there stays.
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const CATEGORY = 'Ropewalk';
const ANY_CHANGE = 'ropewalk.hasChanges';
const ANY_PROPOSAL = 'ropewalk.hasProposals';
const NEVER = 'false';

/** name: title, icon, when the palette has it. */
const COMMANDS = {
  accept: ['Accept the Proposal at the Cursor', 'check', 'ropewalk.fileHasProposals'],
  acceptCall: ["Accept All of the Call's Proposals", 'check-all', 'ropewalk.fileHasProposals'],
  acceptEdited: ['Accept as Edited', 'check', 'resourceScheme == ropewalk-edit'],
  acceptFile: ['Accept All Proposals in This File', 'check-all', 'ropewalk.fileHasProposals'],
  acceptSession: ["Accept All of the Session's Proposals", 'check-all', 'ropewalk.fileHasProposals'],
  cancelCall: ['Cancel the Call', 'debug-stop', NEVER],
  clearCalls: ['Clear Ended Calls', 'clear-all', 'true'],
  editProposal: ['Edit the Proposal Before Accepting', 'edit', 'ropewalk.fileHasProposals'],
  keep: ['Keep the Change at the Cursor', 'check', 'ropewalk.fileHasChanges'],
  keepAll: ['Keep All Changes', 'check-all', ANY_CHANGE],
  keepCall: ["Keep All of the Call's Changes", 'check-all', 'ropewalk.fileHasChanges'],
  keepFile: ['Keep All Changes in This File', 'check-all', 'ropewalk.fileHasChanges'],
  keepSession: ["Keep All of the Session's Changes", 'check-all', 'ropewalk.fileHasChanges'],
  nextChange: ['Go to the Next Change', 'arrow-down', `${ANY_CHANGE} || ${ANY_PROPOSAL}`],
  previousChange: ['Go to the Previous Change', 'arrow-up', `${ANY_CHANGE} || ${ANY_PROPOSAL}`],
  refreshOutput: ['Refresh the Output', 'refresh', 'resourceScheme == ropewalk-output'],
  reject: ['Reject the Proposal at the Cursor', 'close', 'ropewalk.fileHasProposals'],
  rejectCall: ["Reject All of the Call's Proposals", 'close-all', 'ropewalk.fileHasProposals'],
  rejectFile: ['Reject All Proposals in This File', 'close-all', 'ropewalk.fileHasProposals'],
  rejectSession: ["Reject All of the Session's Proposals", 'close-all', 'ropewalk.fileHasProposals'],
  rejectWithWords: ['Reject the Proposal and Say Why...', 'comment', 'ropewalk.fileHasProposals'],
  restoreUndone: ['Bring Back What Was Undone...', 'redo', 'ropewalk.hasUndos'],
  reveal: ['Go to the Change', 'go-to-file', NEVER],
  showDiff: ["Compare With the Text Before Agents' Changes", 'diff', 'ropewalk.fileHasChanges'],
  showJobOutput: ['Show the Output of the Job', 'output', NEVER],
  showOutput: ['Show the Whole Output', 'output', NEVER],
  showProposal: ['Compare With What Is Proposed', 'diff', 'ropewalk.fileHasProposals'],
  stopJob: ['Stop the Job', 'debug-stop', NEVER],
  undo: ['Undo the Change at the Cursor', 'discard', 'ropewalk.fileHasChanges'],
  undoAll: ['Undo All Changes...', 'discard', ANY_CHANGE],
  undoCall: ["Undo All of the Call's Changes", 'discard', 'ropewalk.fileHasChanges'],
  undoFile: ['Undo All Changes in This File', 'discard', 'ropewalk.fileHasChanges'],
  undoSession: ["Undo All of the Session's Changes", 'discard', 'ropewalk.fileHasChanges'],
};

const VIEWS = [
  { id: 'ropewalk.calls', name: 'Calls', icon: 'media/view.svg' },
  { id: 'ropewalk.changes', name: 'Changes', icon: 'media/view.svg' },
  { id: 'ropewalk.proposals', name: 'Proposals', icon: 'media/view.svg' },
  { id: 'ropewalk.jobs', name: 'Jobs', icon: 'media/view.svg', visibility: 'collapsed' },
  { id: 'ropewalk.todos', name: 'Tasks', icon: 'media/view.svg', visibility: 'collapsed' },
];

const WELCOME = [
  { view: 'ropewalk.calls', contents: 'No agent has called a tool in this window yet.' },
  { view: 'ropewalk.changes', contents: 'No change of an agent waits for your judgement.' },
  { view: 'ropewalk.proposals', contents: 'Nothing is proposed.' },
  { view: 'ropewalk.jobs', contents: 'Nothing runs in the background.' },
  { view: 'ropewalk.todos', contents: 'No agent keeps a list of tasks.' },
];

/** menu: command, when, group. */
const MENUS = {
  'editor/title': [
    ['acceptEdited', 'resourceScheme == ropewalk-edit', 'navigation@1'],
    [
      'previousChange',
      '!isInDiffEditor && ropewalk.fileHasChanges || !isInDiffEditor && ropewalk.fileHasProposals',
      'navigation@2',
    ],
    [
      'nextChange',
      '!isInDiffEditor && ropewalk.fileHasChanges || !isInDiffEditor && ropewalk.fileHasProposals',
      'navigation@3',
    ],
    ['refreshOutput', 'resourceScheme == ropewalk-output', 'navigation@1'],
    ['keepFile', 'ropewalk.fileHasChanges', '1_ropewalk@1'],
    ['undoFile', 'ropewalk.fileHasChanges', '1_ropewalk@2'],
    ['showDiff', 'ropewalk.fileHasChanges', '1_ropewalk@3'],
    ['acceptFile', 'ropewalk.fileHasProposals', '1_ropewalk@4'],
    ['rejectFile', 'ropewalk.fileHasProposals', '1_ropewalk@5'],
    ['showProposal', 'ropewalk.fileHasProposals', '1_ropewalk@6'],
    ['editProposal', 'ropewalk.fileHasProposals', '1_ropewalk@7'],
  ],
  'view/title': [
    ['clearCalls', 'view == ropewalk.calls', 'navigation@1'],
    ['previousChange', `view == ropewalk.changes && ${ANY_CHANGE}`, 'navigation@1'],
    ['nextChange', `view == ropewalk.changes && ${ANY_CHANGE}`, 'navigation@2'],
    ['keepAll', `view == ropewalk.changes && ${ANY_CHANGE}`, 'navigation@3'],
    ['undoAll', `view == ropewalk.changes && ${ANY_CHANGE}`, 'navigation@4'],
    ['restoreUndone', 'view == ropewalk.changes && ropewalk.hasUndos', '1_ropewalk@1'],
  ],
  'view/item/context': [
    ['cancelCall', 'viewItem == ropewalkCallRunning', 'inline@1'],
    ['keep', 'viewItem == ropewalkChange', 'inline@1'],
    ['undo', 'viewItem == ropewalkChange', 'inline@2'],
    ['keepFile', 'viewItem == ropewalkChangeFile', 'inline@1'],
    ['undoFile', 'viewItem == ropewalkChangeFile', 'inline@2'],
    ['keepSession', 'viewItem == ropewalkChangeSession', 'inline@1'],
    ['undoSession', 'viewItem == ropewalkChangeSession', 'inline@2'],
    ['accept', 'viewItem == ropewalkProposal', 'inline@1'],
    ['reject', 'viewItem == ropewalkProposal', 'inline@2'],
    ['rejectWithWords', 'viewItem == ropewalkProposal || viewItem == ropewalkProposalFile', '1_ropewalk@1'],
    ['editProposal', 'viewItem == ropewalkProposalFile', '1_ropewalk@2'],
    ['acceptFile', 'viewItem == ropewalkProposalFile', 'inline@1'],
    ['rejectFile', 'viewItem == ropewalkProposalFile', 'inline@2'],
    ['acceptSession', 'viewItem == ropewalkProposalSession', 'inline@1'],
    ['rejectSession', 'viewItem == ropewalkProposalSession', 'inline@2'],
    ['stopJob', 'viewItem == ropewalkJobRunning', 'inline@1'],
  ],
};

/** Settings of these parts; the sidecar is not told of them. */
const SETTINGS = {
  'ropewalk.agentModel': {
    scope: 'machine',
    type: 'string',
    default: '',
    markdownDescription:
      'The language model of VS Code that runs agents (the tool `agent`) and answers what MCP servers ask a model: its id, `vendor/id`, family or name. Empty: the first that there is. `none`: no agent is run by VS Code. VS Code asks you before the extension uses a model for the first time.',
  },
  'ropewalk.agentRounds': {
    scope: 'machine',
    type: 'integer',
    minimum: 1,
    default: 50,
    markdownDescription: 'How often the model of an agent is asked at most, before the agent is stopped.',
  },
  'ropewalk.languageModelTools': {
    scope: 'machine',
    anyOf: [
      { type: 'string', enum: ['default', 'all', 'none'] },
      { type: 'array', items: { type: 'string' }, uniqueItems: true },
    ],
    default: 'default',
    markdownDescription:
      "Which tools VS Code's own chat and other extensions get as language model tools. `default`: what VS Code lacks, `apply_patch`, `edit`, `lsp`, `memory`, `monitor`, `multi_edit`, `output` and `websearch`; `all`; `none`; or a list of names.",
  },
  'ropewalk.mcpServer': {
    scope: 'machine',
    type: 'boolean',
    default: false,
    markdownDescription:
      "Offers this window's tools to VS Code as an MCP server too (`ropewalk mcp --connect`), for agents that know tools by MCP only. Off by default, for otherwise VS Code's chat would have the tools twice; with it, `#ropewalk.languageModelTools#` is best set to `none`.",
  },
  'ropewalk.review.codeLens': {
    scope: 'window',
    type: 'boolean',
    default: true,
    markdownDescription: 'Shows what can be done with a change or a proposal above its lines.',
  },
  'ropewalk.review.removedText': {
    scope: 'window',
    type: 'boolean',
    default: true,
    markdownDescription:
      'Shows behind a changed line what stood there before. The whole text is shown on hover in any case.',
  },
};

const ours = new Set(Object.keys(COMMANDS).map((name) => `ropewalk.${name}`));

/** The manifest with these parts as they should be. */
export function contributed(manifest) {
  const { contributes } = manifest;
  const commands = Object.entries(COMMANDS).map(([name, [title, icon]]) => ({
    command: `ropewalk.${name}`,
    title,
    category: CATEGORY,
    icon: `$(${icon})`,
  }));
  const menus = { ...contributes.menus };
  const put = (menu, items) => {
    menus[menu] = [...(menus[menu] ?? []).filter((item) => !ours.has(item.command)), ...items];
  };
  for (const [menu, items] of Object.entries(MENUS)) {
    put(
      menu,
      items.map(([name, when, group]) => ({ command: `ropewalk.${name}`, when, group })),
    );
  }
  put(
    'commandPalette',
    Object.entries(COMMANDS).map(([name, [, , when]]) => ({ command: `ropewalk.${name}`, when })),
  );
  const title = 'Review and models';
  return {
    ...manifest,
    contributes: {
      ...contributes,
      commands: [...(contributes.commands ?? []).filter((it) => !ours.has(it.command)), ...commands],
      menus,
      viewsContainers: { activitybar: [{ id: 'ropewalk', title: 'Ropewalk', icon: 'media/view.svg' }] },
      views: { ropewalk: VIEWS },
      viewsWelcome: WELCOME,
      mcpServerDefinitionProviders: [{ id: 'ropewalk.bridge', label: 'Ropewalk' }],
      configuration: [
        ...contributes.configuration.filter((group) => group.title !== title),
        { title, properties: SETTINGS },
      ],
    },
  };
}

function main() {
  const check = process.argv.includes('--check');
  const file = fileURLToPath(new URL('../package.json', import.meta.url));
  const now = readFileSync(file, 'utf8');
  const wanted = `${JSON.stringify(contributed(JSON.parse(now)), null, 2)}\n`;
  if (now === wanted) return;
  if (check) {
    console.error('package.json is not what scripts/contributes.mjs says: run `npm run contributes`');
    process.exitCode = 1;
  } else writeFileSync(file, wanted);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) main();
