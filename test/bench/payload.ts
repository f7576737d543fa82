/** A release payload of real size: installed, kept and updated by the version operator. See `--help`. */
import { parseArgs } from 'node:util';
import { cleanupOnExit } from '@flotilla/control-plane/processes';
import { pathFromCaller } from '@flotilla/runtime';
import { type PhaseFigures, runPayload } from './payload/payload-run.ts';

const USAGE = `bench:payload -- --dir DIR [--eager] [--json] [--cpu-profile FOLDER] [--log FOLDER]
--dir: folder with the payloads real/ and next/, each with an operators.json. --eager: every operator reports the new release before the
operator gets to it.`;
const HOW = `How it is taken: a real etcd and kube-apiserver, what an installer creates, and operators that answer 0.5 s after their creation and 1 s after
their Deployments changed. The operator is bundled as in an image, a process of its own. Install and update count from its start to ClusterVersion with
Available=True and a Completed history entry of the version; a steady pass is its own figure for a pass that finds nothing to do, with
all requests and the CPU of the interval in which it falls. Requests are those of the operator's user in the audit log, without
watches and leases. Memory (peak) and CPU by /proc.`;

const text = { type: 'string' } as const;
const flag = { type: 'boolean' } as const;
const { values } = parseArgs({ options: { dir: text, eager: flag, json: flag, 'cpu-profile': text, log: text, help: flag } });

const fromCaller = (path: string): string => pathFromCaller(path, process.env);
const print = (line: string) => process.stdout.write(`${line}\n`);

function printFigures(figures: readonly PhaseFigures[]): void {
  print('phase        seconds  requests  writes  refused  CPU s  peak MiB  API server CPU s  by verb');
  for (const { phase, seconds, requests, writes, refused, cpuSeconds, peakMiB, apiServerCpuSeconds, byVerb } of figures) {
    const cells = [seconds, requests, writes, refused, cpuSeconds, peakMiB, apiServerCpuSeconds].map((cell) => String(cell).padStart(8));
    print(`${phase.padEnd(12)} ${cells.join(' ')}  ${JSON.stringify(byVerb)}`);
  }
}

if (values.help || values.dir === undefined) {
  print(`${USAGE}\n\n${HOW}`);
  process.exitCode = values.help ? 0 : 2;
} else {
  cleanupOnExit();
  const figures = await runPayload({
    dir: fromCaller(values.dir),
    eager: values.eager ?? false,
    cpuProfile: values['cpu-profile'] && fromCaller(values['cpu-profile']),
    logFolder: values.log && fromCaller(values.log),
  });
  if (values.json) print(JSON.stringify(figures));
  else printFigures(figures);
}
