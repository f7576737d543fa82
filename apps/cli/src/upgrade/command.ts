import { checkOptions } from '@flotilla/runtime';
import { reportUpgrade, type UpgradeReport, upgraders } from '@flotilla/upgrade';
import { Exit, endWith } from '../exit.ts';
import { wantsJson } from '../hub/options.ts';
import type { Run } from '../run.ts';
import { writeErr, writeJson, writeOut } from '../terminal/output.ts';
import { safeText } from '../terminal/safe-text.ts';
import { standardScreen } from '../terminal/screen.ts';
import { table } from '../terminal/table.ts';
import { UpgradeOptions } from './options.ts';
import { readUpgradeConfig } from './read.ts';

/** `flotilla upgrade plan`: the steps of a managed upgrade, in order. */
export const showPlan: Run = async (_, given) => {
  const options = checkOptions(UpgradeOptions, given);
  const { upgradeConfig } = await readUpgradeConfig(options);
  const { to, upgradeAt } = reportUpgrade(upgradeConfig);
  const { steps, failsOutsideWindow } = upgraders[upgradeConfig.spec.type];
  if (wantsJson(options)) return writeJson({ type: upgradeConfig.spec.type, to, upgradeAt, failsOutsideWindow, steps });
  print(
    table(
      ['#', 'STEP'],
      steps.map((step, index) => [String(index + 1), step]),
    ),
  );
  const end = failsOutsideWindow ? 'given up when nothing was changed by the end of its window' : 'not given up';
  writeErr(`${safeText(`${upgradeConfig.spec.type} to ${to}, from ${upgradeAt} on`)}, ${end}\n`);
};

/** `flotilla upgrade status`: how far each step is. */
export const showStatus: Run = async (_, given) => {
  const options = checkOptions(UpgradeOptions, given);
  const { upgradeConfig, missing } = await readUpgradeConfig(options);
  const report = reportUpgrade(upgradeConfig);
  if (missing !== undefined) {
    writeErr(`${safeText(missing)}\n`);
    endWith(Exit.unknown);
  }
  // Before the answer: a script that reads JSON goes by the exit code too.
  if (report.phase === 'Failed') endWith(Exit.no);
  if (wantsJson(options)) return writeJson(report);
  print(statusTable(report));
  const from = report.from === undefined ? '' : `from ${report.from} `;
  writeErr(`${safeText(`${report.phase}: ${from}to ${report.to}, from ${report.upgradeAt} on`)}\n`);
  for (const complaint of report.complaints) writeErr(`${safeText(complaint)}\n`);
};

const statusTable = ({ steps }: UpgradeReport): string =>
  table(
    ['#', 'STEP', 'STATE', 'SINCE', 'WHAT'],
    steps.map(({ step, state, since = '', what = '' }, index) => [String(index + 1), step, state, since, what]),
    standardScreen(),
  );

const print = (text: string): void => writeOut(`${text}\n`);
