import { reportUpgrade, type UpgradeReport, upgraders } from '@flotilla/upgrade';
import { Command } from 'commander';
import { readOptions } from '../payload/options.ts';
import { table } from '../payload/print.ts';
import { UpgradeOptions, upgradeFlags } from './options.ts';
import { readUpgradeConfig } from './read.ts';

/** `flotilla upgrade`: the managed upgrade of one cluster, step by step. */
export function upgradeCommand(): Command {
  return new Command('upgrade')
    .description('Shows the managed upgrade of a cluster.')
    .addCommand(withFlags(new Command('plan').description('Lists the steps that the upgrade takes, in order.')).action(showPlan))
    .addCommand(
      withFlags(new Command('status').description('Shows how far each step is: done, waiting for what, left.')).action(showStatus),
    );
}

const withFlags = (command: Command): Command => {
  for (const [flag, meaning] of upgradeFlags) command.option(flag, meaning);
  return command;
};

async function showPlan(given: unknown): Promise<void> {
  const options = readOptions(UpgradeOptions, given);
  const { upgradeConfig } = await readUpgradeConfig(options);
  const { to, upgradeAt } = reportUpgrade(upgradeConfig);
  const { steps, failsOutsideWindow } = upgraders[upgradeConfig.spec.type];
  if (options.json) return print(JSON.stringify({ type: upgradeConfig.spec.type, to, upgradeAt, failsOutsideWindow, steps }));
  print(
    table(
      ['#', 'STEP'],
      steps.map((step, index) => [String(index + 1), step]),
    ),
  );
  const end = failsOutsideWindow ? 'given up when nothing was changed by the end of its window' : 'not given up';
  process.stderr.write(`${upgradeConfig.spec.type} to ${to}, from ${upgradeAt} on, ${end}\n`);
}

async function showStatus(given: unknown): Promise<void> {
  const options = readOptions(UpgradeOptions, given);
  const { upgradeConfig, missing } = await readUpgradeConfig(options);
  const report = reportUpgrade(upgradeConfig);
  if (missing !== undefined) {
    process.stderr.write(`${missing}\n`);
    process.exitCode = 1;
  }
  if (options.json) return print(JSON.stringify(report));
  print(statusTable(report));
  const from = report.from === undefined ? '' : `from ${report.from} `;
  process.stderr.write(`${report.phase}: ${from}to ${report.to}, from ${report.upgradeAt} on\n`);
  for (const complaint of report.complaints) process.stderr.write(`${complaint}\n`);
}

const statusTable = ({ steps }: UpgradeReport): string =>
  table(
    ['#', 'STEP', 'STATE', 'SINCE', 'WHAT'],
    steps.map(({ step, state, since = '', what = '' }, index) => [String(index + 1), step, state, since, what]),
  );

const print = (text: string): void => void process.stdout.write(`${text}\n`);
