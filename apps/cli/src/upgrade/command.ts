import { FlotillaError } from '@flotilla/api';
import { CLUSTER_VERSION_NAME, ClusterVersion } from '@flotilla/api/config';
import { UPGRADE_CONFIG_NAME, UpgradeConfig } from '@flotilla/api/managed';
import { checkOptions, readOptionFile } from '@flotilla/runtime';
import { reportUpgrade, type UpgradeReport, upgraders } from '@flotilla/upgrade';
import { parseDocument } from 'yaml';
import { callersPath } from '../config.ts';
import { connect } from '../hub/connect.ts';
import { wantsJson } from '../hub/options.ts';
import { Exit, endWith, type Run } from '../run.ts';
import { safeText, standardScreen, writeErr, writeJson, writeOut } from '../terminal/output.ts';
import { table } from '../terminal/table.ts';
import { UpgradeOptions } from './options.ts';

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

/** An UpgradeConfig, and the missing requirement of its cluster. */
interface ReadUpgrade {
  readonly upgradeConfig: UpgradeConfig;
  /** Reason why no upgrade can start there, with the fix; undefined for a file's. */
  readonly missing?: string | undefined;
}

/** Reads the UpgradeConfig from a file or a cluster. Throws an error that names the problem and its place. */
async function readUpgradeConfig(options: UpgradeOptions): Promise<ReadUpgrade> {
  const { file, namespace } = options;
  if (file !== undefined) return { upgradeConfig: parseUpgradeConfig((await readOptionFile('--file', callersPath(file))) ?? '', file) };
  await using connected = connect(options);
  const { client } = connected;
  const found = await client.get(UpgradeConfig, { namespace, name: UPGRADE_CONFIG_NAME });
  if (!found)
    throw new FlotillaError(
      'FLOTILLA_NO_UPGRADE',
      `there is no UpgradeConfig ${namespace}/${UPGRADE_CONFIG_NAME} on ${client.server}; create it, or name its namespace with --namespace`,
    );
  const version = await client.get(ClusterVersion, { name: CLUSTER_VERSION_NAME });
  return { upgradeConfig: found, missing: version ? undefined : noClusterVersion(client.server) };
}

const noClusterVersion = (server: string): string =>
  `ClusterVersion ${CLUSTER_VERSION_NAME} is missing on ${server}, so no upgrade begins; name an OpenShift cluster with --kubeconfig, or install the version operator (chart value versionOperator.enabled)`;

function parseUpgradeConfig(text: string, file: string): UpgradeConfig {
  const refuse = (why: string) => new FlotillaError('FLOTILLA_UPGRADE_INVALID', `${file}: ${why}`);
  const document = parseDocument(text);
  const [problem] = document.errors;
  if (problem) throw refuse(problem.message.split('\n', 1).join(''));
  const parsed = UpgradeConfig.schema.safeParse(document.toJS());
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  throw refuse(`${issue?.path.join('.') || 'the document'}: ${issue?.message}`);
}
