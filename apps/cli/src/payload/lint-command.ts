import { readFile, stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { payloadLimits } from '@flotilla/release';
import { type Finding, lintClusterOperatorFile, lintPayload } from '@flotilla/release/lint';
import { checkOptions } from '@flotilla/runtime';
import { callersPath } from '../config.ts';
import { wantsJson } from '../hub/options.ts';
import { Exit, endWith, type Run } from '../run.ts';
import { safeText, writeErr, writeJson, writeOut } from '../terminal/output.ts';
import { openPayload } from './load.ts';
import { LintOptions } from './options.ts';

/** `flotilla payload lint`: what is wrong in a payload, or with a ClusterOperator. */
export const lint: Run = async ([given = ''], options) => {
  const settings = checkOptions(LintOptions, options);
  const file = await readSingleFile(given);
  const findings = file ? lintClusterOperatorFile(file) : await lintPayload((await openPayload(given, settings)).files);
  if (wantsJson(settings)) writeJson(findings);
  else writeOut(findings.map((finding) => `${lineOf(finding)}\n`).join(''));
  const errors = findings.filter(({ level }) => level === 'error').length;
  writeErr(`${errors} errors, ${findings.length - errors} warnings\n`);
  if (errors > 0 || (settings.strict && findings.length > 0)) endWith(Exit.no);
};

const lineOf = ({ level, rule, file, line, message }: Finding): string => safeText(`${file}:${line}: ${level}: ${rule}: ${message}`);

async function readSingleFile(given: string) {
  const path = callersPath(given);
  const found = await stat(path).catch(() => undefined);
  if (!found?.isFile() || found.size > payloadLimits.fileBytes) return undefined;
  return { path: basename(path), content: await readFile(path) };
}
