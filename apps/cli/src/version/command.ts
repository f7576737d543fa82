import { checkOptions, createClient, versionLine } from '@flotilla/runtime';
import { Command } from 'commander';
import { z } from 'zod';
import { callersPath } from '../config.ts';
import { runningPrograms } from './running.ts';

const VersionOptions = z.object({ kubeconfig: z.string().min(1, { error: 'is empty: give the path of a kubeconfig' }).optional() });

/** `flotilla version`: the version of this program, and of what runs in a cluster. */
export const versionCommand = (): Command =>
  new Command('version')
    .description('Says version and commit of this program, and with --kubeconfig what of Flotilla runs in that cluster.')
    .option('--kubeconfig <file>', 'kubeconfig of a hub or spoke')
    .action((given: unknown) => showVersion(checkOptions(VersionOptions, given)));

async function showVersion({ kubeconfig }: z.output<typeof VersionOptions>): Promise<void> {
  process.stdout.write(`${versionLine('flotilla')}\n`);
  if (kubeconfig === undefined) return;
  const client = createClient({ kubeconfigPath: callersPath(kubeconfig), userAgent: 'flotilla-cli' });
  try {
    process.stdout.write(`${await runningPrograms(client)}\n`);
  } finally {
    await client.close();
  }
}
