import { checkOptions } from '@flotilla/runtime';
import { reportUpgrade, type UpgradeReport, upgraders } from '@flotilla/upgrade';
import { Exit, endWith } from '../exit.ts';
import type { Run } from '../run.ts';
import { safeText } from '../terminal/safe-text.ts';
import { table } from '../terminal/table.ts';
import { UpgradeOptions } from './options.ts';
import { readUpgradeConfig } from './read.ts';

/** `flotilla upgrade plan`: the steps of a managed upgrade, in order. */
export const showPlan: Run = async (_, given) => {
  const options = checkOptions(UpgradeOptions, given);
  const { upgradeConfig } = await readUpgradeConfig(options);
  const { to, upgradeAt } = reportUpgrade(upgradeConfig);
  const { steps, failsOutsideWindow } = upgraders[upgradeConfig.spec.type];
  if (options.json || options.output === 'json')
    return print(JSON.stringify({ type: upgradeConfig.spec.type, to, upgradeAt, failsOutsideWindow, steps }));
  print(
    table(
      ['#', 'STEP'],
      steps.map((step, index) => [String(index + 1), step]),
    ),
  );
  const end = failsOutsideWindow ? 'given up when nothing was changed by the end of its window' : 'not given up';
  process.stderr.write(`${upgradeConfig.spec.type} to ${to}, from ${upgradeAt} on, ${end}\n`);
};

/** `flotilla upgrade status`: how far each step is. */
export const showStatus: Run = async (_, given) => {
  const options = checkOptions(UpgradeOptions, given);
  const { upgradeConfig, missing } = await readUpgradeConfig(options);
  const report = reportUpgrade(upgradeConfig);
  if (missing !== undefined) {
    process.stderr.write(`${missing}\n`);
    endWith(Exit.unknown);
  }
  if (options.json || options.output === 'json') return print(JSON.stringify(report));
  print(statusTable(report));
  const from = report.from === undefined ? '' : `from ${report.from} `;
  process.stderr.write(`${report.phase}: ${from}to ${report.to}, from ${report.upgradeAt} on\n`);
  for (const complaint of report.complaints) process.stderr.write(`${safeText(complaint)}\n`);
  if (report.phase === 'Failed') endWith(Exit.no);
};

const statusTable = ({ steps }: UpgradeReport): string =>
  table(
    ['#', 'STEP', 'STATE', 'SINCE', 'WHAT'],
    steps.map(({ step, state, since = '', what = '' }, index) => [String(index + 1), step, state, since, what]),
  );

const print = (text: string): void => void process.stdout.write(`${text}\n`);
