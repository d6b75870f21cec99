/** The list of commands. */
import { bootGroup } from './boot.js';
import { completionCommand } from './completion.js';
import { consoleCommand } from './console.js';
import { watchCommand } from './watch.js';
import type { CommandDefinition } from './command.js';
import { contextGroup } from './context.js';
import { inventoryCommand } from './inventory.js';
import { listCommand } from './list.js';
import { logGroup } from './log.js';
import { mediaGroup } from './media.js';
import { powerGroup } from './power.js';

/** All commands, in the order of the help. */
export const commands: readonly CommandDefinition[] = [
  listCommand,
  powerGroup,
  bootGroup,
  mediaGroup,
  consoleCommand,
  logGroup,
  watchCommand,
  inventoryCommand,
  contextGroup,
  completionCommand,
];
