import { withVersion } from '@flotilla/runtime';
import { Command } from 'commander';
import { checkCommand } from './check-talm/command.ts';
import { completionCommand } from './completion/command.ts';
import { joinCommand } from './join/command.ts';
import { mirrorCommand } from './mirror/command.ts';
import { payloadCommand } from './payload/command.ts';
import { diffCommand } from './payload-diff/command.ts';
import { upgradeCommand } from './upgrade/command.ts';
import { versionCommand } from './version/command.ts';

/** `flotilla` with all its commands; help and docs/reference/options.md are made of it. */
export const createProgram = (): Command =>
  withVersion(new Command('flotilla'), 'flotilla')
    .description('Manages a fleet from the command line.')
    .addCommand(joinCommand())
    .addCommand(payloadCommand().addCommand(diffCommand()))
    .addCommand(upgradeCommand())
    .addCommand(checkCommand())
    .addCommand(mirrorCommand())
    .addCommand(versionCommand())
    .addCommand(completionCommand());
