/** All commands, in the order of the help. */
import type { CommandDefinition } from './command.js';
import { contextGroup } from './context.js';
import { listCommand } from './list.js';
import { powerGroup } from './power.js';

/** The commands. */
export const commands: readonly CommandDefinition[] = [listCommand, powerGroup, contextGroup];
