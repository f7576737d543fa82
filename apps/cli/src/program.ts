import { withVersion } from '@flotilla/runtime';
import { Command } from 'commander';
import { checkCommand } from './check-talm/command.ts';
import { joinCommand } from './join/command.ts';
import { payloadCommand } from './payload/command.ts';
import { diffCommand } from './payload-diff/command.ts';
import { upgradeCommand } from './upgrade/command.ts';

/** `flotilla` with all its commands; help and docs/reference/options.md are made of it. */
export const createProgram = (): Command =>
  withVersion(new Command('flotilla'), 'flotilla')
    .description('Manages a fleet from the command line.')
    .addCommand(joinCommand())
    .addCommand(payloadCommand().addCommand(diffCommand()))
    .addCommand(upgradeCommand())
    .addCommand(checkCommand());
