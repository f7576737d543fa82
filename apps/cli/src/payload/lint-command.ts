import { readFile, stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { payloadLimits } from '@flotilla/release';
import { type Finding, lintClusterOperatorFile, lintPayload } from '@flotilla/release/lint';
import { Command } from 'commander';
import { callersPath } from '../config.ts';
import { openPayload } from './open-payload.ts';
import { LintOptions, readOptions, registryFlags } from './options.ts';

/** Exit code for errors, or with `--strict` for any finding; a failure of the command itself has another code. */
const FOUND = 2;

/** `flotilla payload lint`: problems of a payload or a ClusterOperator. */
export function lintCommand(): Command {
  const command = new Command('lint').argument('<payload>', 'root of the payload, its image, or a file with ClusterOperators');
  for (const [flag, meaning] of registryFlags) command.option(flag, meaning);
  return command
    .description(`Says what is wrong in a payload, by file and line. Ends with ${FOUND} when there are errors.`)
    .option('--json', 'as JSON: a list of {level, rule, file, line, message}')
    .option('--strict', `end with ${FOUND} for warnings too`)
    .action(async (given: string, options: unknown) => {
      const { json, strict, ...registry } = readOptions(LintOptions, options);
      const file = await readSingleFile(given);
      const findings = file ? lintClusterOperatorFile(file) : await lintPayload((await openPayload(given, registry)).files);
      process.stdout.write(json ? `${JSON.stringify(findings)}\n` : findings.map((finding) => `${lineOf(finding)}\n`).join(''));
      const errors = findings.filter(({ level }) => level === 'error').length;
      process.stderr.write(`${errors} errors, ${findings.length - errors} warnings\n`);
      if (errors > 0 || (strict && findings.length > 0)) process.exitCode = FOUND;
    });
}

const lineOf = ({ level, rule, file, line, message }: Finding): string => `${file}:${line}: ${level}: ${rule}: ${message}`;

async function readSingleFile(given: string) {
  const path = callersPath(given);
  const found = await stat(path).catch(() => undefined);
  if (!found?.isFile() || found.size > payloadLimits.fileBytes) return undefined;
  return { path: basename(path), content: await readFile(path) };
}
