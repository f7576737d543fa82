import { FlotillaError } from '@flotilla/api';
import { CLUSTER_VERSION_NAME, ClusterVersion } from '@flotilla/api/config';
import { UPGRADE_CONFIG_NAME, UpgradeConfig } from '@flotilla/api/managed';
import { readOptionFile } from '@flotilla/runtime';
import { parseDocument } from 'yaml';
import { callersPath } from '../config.ts';
import { connect } from '../hub/connect.ts';
import type { UpgradeOptions } from './options.ts';

/** An UpgradeConfig, and the missing requirement of its cluster. */
interface ReadUpgrade {
  readonly upgradeConfig: UpgradeConfig;
  /** Reason why no upgrade can start there, with the fix; undefined for a file's. */
  readonly missing?: string | undefined;
}

/** Reads the UpgradeConfig from a file or a cluster. Throws an error that names the problem and its place. */
export async function readUpgradeConfig(options: UpgradeOptions): Promise<ReadUpgrade> {
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
