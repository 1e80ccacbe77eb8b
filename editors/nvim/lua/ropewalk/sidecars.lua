--- The language clients that are this plugin's: others may have the name, say a plain one of the same program.

local M = {}

M.name = 'ropewalk'

--- Whether a language client was started by this plugin.
---@param client vim.lsp.Client
---@return boolean
function M.is_ours(client)
  return client.name == M.name and client.handlers['ropewalk/resync'] ~= nil
end

--- The sidecars.
---@param filter? vim.lsp.get_clients.Filter
---@return vim.lsp.Client[]
function M.list(filter)
  return vim.tbl_filter(M.is_ours, vim.lsp.get_clients(vim.tbl_extend('force', filter or {}, { name = M.name })))
end

return M
