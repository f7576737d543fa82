import { z } from 'zod';
import { accessBy, asJson } from '../hub/options.ts';
import { option, text } from '../option.ts';

/** Options of `upgrade plan` and `upgrade status`. */
export const UpgradeOptions = z.object({
  ...accessBy('kubeconfig of the cluster (default KUBECONFIG, else ~/.kube/config)'),
  file: option(
    '<file>',
    text('give the path of an UpgradeConfig'),
    'read the UpgradeConfig from a file (YAML or JSON) instead of a cluster',
    'f',
  ),
  namespace: option(
    '<namespace>',
    // The import of `@flotilla/api/managed`, which names it, would make --help slow.
    z.string().min(1, { error: 'is empty: give a namespace' }).default('openshift-managed-upgrade-operator'),
    'namespace of the UpgradeConfig',
    'n',
  ),
  ...asJson('the answer by its schema'),
});
export type UpgradeOptions = z.output<typeof UpgradeOptions>;
