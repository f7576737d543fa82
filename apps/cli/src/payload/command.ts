import { readFile, stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { capabilitySets, featureSets, payloadLimits, planApply } from '@flotilla/release';
import { type Finding, lintClusterOperatorFile, lintPayload } from '@flotilla/release/lint';
import { checkOptions } from '@flotilla/runtime';
import { callersPath } from '../config.ts';
import { wantsJson } from '../hub/options.ts';
import { Exit, endWith, type Run } from '../run.ts';
import { safeText, standardScreen, writeErr, writeJson, writeOut } from '../terminal/output.ts';
import { table } from '../terminal/table.ts';
import { loadFiltered, openPayload } from './load.ts';
import { GraphOptions, IncludedOptions, LintOptions } from './options.ts';
import { graphAsDot, graphAsJson, graphAsMermaid, printed } from './print.ts';

/** Names that the library alone knows, checked with the other options. */
const named = ({ shape: { featureSet, capabilities } }: typeof IncludedOptions | typeof GraphOptions) => ({
  featureSet: oneOf(featureSet, featureSets),
  capabilities: oneOf(capabilities, [...capabilitySets.keys()]),
});
const oneOf = (schema: (typeof GraphOptions)['shape']['featureSet'], names: readonly string[]) =>
  schema.refine((name) => names.includes(name), { error: `must be one of ${names.join(', ')}` });

/** `flotilla payload included`: what a cluster takes of a payload. */
export const showIncluded: Run = async ([source = ''], given) => {
  const options = checkOptions(IncludedOptions.extend(named(IncludedOptions)), given);
  const { why } = options;
  const { payload, included, excluded } = await loadFiltered(source, options);
  if (wantsJson(options))
    writeJson(why ? excluded.map(({ manifest, rule, message }) => ({ ...printed(manifest), rule, message })) : included.map(printed));
  else {
    const rows = why
      ? excluded.map(({ manifest, rule, message }) => [...Object.values(printed(manifest)), rule, message])
      : included.map((manifest) => Object.values(printed(manifest)));
    writeOut(`${table(['FILE', 'KIND', 'NAMESPACE', 'NAME', ...(why ? ['RULE', 'WHY'] : [])], rows, standardScreen())}\n`);
  }
  writeErr(`${safeText(payload.release.version)}: ${included.length} of ${payload.manifests.length} manifests are included\n`);
};

const states = { install: 'Initializing', update: 'Updating', reconcile: 'Reconciling' } as const;

/** `flotilla payload graph`: in which order a payload is applied. */
export const showGraph: Run = async ([source = ''], given) => {
  const options = checkOptions(GraphOptions.extend(named(GraphOptions)), given);
  const { format, state, seed } = options;
  const { included } = await loadFiltered(source, options);
  const { nodes } = planApply(included, states[state], seed);
  process.stdout.write(`${{ dot: graphAsDot, mermaid: graphAsMermaid, json: graphAsJson }[wantsJson(options) ? 'json' : format](nodes)}\n`);
};

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
