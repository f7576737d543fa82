import { planApply } from '@flotilla/release';
import { Command } from 'commander';
import { lintCommand } from './lint-command.ts';
import { loadFiltered } from './load.ts';
import { GraphOptions, IncludedOptions, payloadFlags, readOptions, registryFlags } from './options.ts';
import { graphAsDot, graphAsJson, graphAsMermaid, printed, table } from './print.ts';

/** `flotilla payload`: content and order of a release payload. */
export function payloadCommand(): Command {
  return new Command('payload')
    .description('Shows what a release payload comes to, in a folder or in its image.')
    .addCommand(includedCommand())
    .addCommand(graphCommand())
    .addCommand(lintCommand());
}

const withPayloadFlags = (command: Command): Command => {
  for (const [flag, meaning] of [...payloadFlags, ...registryFlags]) command.option(flag, meaning);
  return command;
};

function includedCommand(): Command {
  return withPayloadFlags(new Command('included').argument('<payload>', 'root of the payload, or its image'))
    .description('Lists the manifests that a cluster takes of a payload, in load order.')
    .option('--json', 'as JSON: a list of {file, kind, namespace, name}')
    .option('--why', 'list what is left out instead, and why')
    .action(async (source: string, given: unknown) => {
      const { json, why, ...options } = readOptions(IncludedOptions, given);
      const { payload, included, excluded } = await loadFiltered(source, options);
      if (json)
        print(
          JSON.stringify(
            why ? excluded.map(({ manifest, rule, message }) => ({ ...printed(manifest), rule, message })) : included.map(printed),
          ),
        );
      else if (why)
        print(
          table(
            ['FILE', 'KIND', 'NAMESPACE', 'NAME', 'RULE', 'WHY'],
            excluded.map(({ manifest, rule, message }) => [...Object.values(printed(manifest)), rule, message]),
          ),
        );
      else
        print(
          table(
            ['FILE', 'KIND', 'NAMESPACE', 'NAME'],
            included.map((manifest) => Object.values(printed(manifest))),
          ),
        );
      process.stderr.write(`${payload.release.version}: ${included.length} of ${payload.manifests.length} manifests are included\n`);
    });
}

const states = { install: 'Initializing', update: 'Updating', reconcile: 'Reconciling' } as const;

function graphCommand(): Command {
  return withPayloadFlags(new Command('graph').argument('<payload>', 'root of the payload, or its image'))
    .description('Shows in which order a payload is applied.')
    .option('--format <format>', 'dot, mermaid or json (default dot)')
    .option('--state <state>', 'install, update or reconcile (default update)')
    .option('--seed <n>', 'of reconciling: how many tries failed before; the order follows it (default 0)')
    .action(async (source: string, given: unknown) => {
      const { format, state, seed, ...options } = readOptions(GraphOptions, given);
      const { included } = await loadFiltered(source, options);
      const { nodes } = planApply(included, states[state], seed);
      print({ dot: graphAsDot, mermaid: graphAsMermaid, json: graphAsJson }[format](nodes));
    });
}

const print = (text: string): void => void process.stdout.write(`${text}\n`);
