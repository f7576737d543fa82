import { capabilitySets, featureSets, planApply } from '@flotilla/release';
import { checkOptions } from '@flotilla/runtime';
import { wantsJson } from '../hub/options.ts';
import type { Run } from '../run.ts';
import { safeText, standardScreen, writeErr, writeJson, writeOut } from '../terminal/output.ts';
import { table } from '../terminal/table.ts';
import { loadFiltered } from './load.ts';
import { GraphOptions, IncludedOptions } from './options.ts';
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
