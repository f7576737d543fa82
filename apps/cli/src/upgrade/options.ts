import { OPERATOR_NAMESPACE } from '@flotilla/api/managed';
import { z } from 'zod';

/** Flags and meanings of every command that reads an UpgradeConfig. */
export const upgradeFlags = [
  ['--kubeconfig <file>', 'kubeconfig of the cluster; default: KUBECONFIG'],
  ['--file <file>', 'read the UpgradeConfig from a file (YAML or JSON) instead of a cluster'],
  ['--namespace <namespace>', `namespace of the UpgradeConfig (default ${OPERATOR_NAMESPACE})`],
  ['--json', 'as JSON'],
] as const;

/** Options of `upgrade plan` and `upgrade status`. */
export const UpgradeOptions = z.object({
  kubeconfig: z.string().min(1, { error: 'is empty: give the path of a kubeconfig' }).optional(),
  file: z.string().min(1, { error: 'is empty: give the path of an UpgradeConfig' }).optional(),
  namespace: z.string().min(1, { error: 'is empty: give a namespace' }).default(OPERATOR_NAMESPACE),
  json: z.boolean().default(false),
});
export type UpgradeOptions = z.output<typeof UpgradeOptions>;
