--- The highlight groups: each is linked to a standard one unless the user, or their colours, say otherwise.

local api = vim.api

local M = {}

---@type table<string, string>
M.links = {
  -- What is under review.
  RopewalkAdded = 'DiffAdd',
  RopewalkRemoved = 'DiffDelete',
  RopewalkProposed = 'DiffChange',
  RopewalkProposedLine = 'DiffText',
  RopewalkNote = 'Comment',
  RopewalkSignAdded = 'Added',
  RopewalkSignChanged = 'Changed',
  RopewalkSignRemoved = 'Removed',
  RopewalkSignProposed = 'Special',
  -- Questions.
  RopewalkTitle = 'Title',
  RopewalkRisk = 'WarningMsg',
  RopewalkPlace = 'Identifier',
  RopewalkCommand = 'String',
  RopewalkChosen = 'Question',
  RopewalkFaint = 'Comment',
}

local function link()
  for name, target in pairs(M.links) do
    api.nvim_set_hl(0, name, { link = target, default = true })
  end
end

--- Defines the groups, and again with each colour scheme, which forgets them.
function M.define()
  link()
  api.nvim_create_autocmd('ColorScheme', {
    group = api.nvim_create_augroup('ropewalk.highlights', { clear = true }),
    callback = link,
  })
end

return M
