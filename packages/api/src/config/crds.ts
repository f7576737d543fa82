import { type CrdManifest, crd } from '../crd.ts';
import { clusterOperatorSchema, clusterVersionSchema } from './crd-schemas.ts';
import { ClusterOperator, ClusterVersion } from './kinds.ts';

const column = (name: string, jsonPath: string, type = 'string') => ({ name, type, jsonPath });
const status = (condition: string) => `.status.conditions[?(@.type=="${condition}")].status`;

/** CRDs of ClusterVersion and ClusterOperator, for a cluster without a release's own. */
export function configCrds(): CrdManifest[] {
  return [
    crd(ClusterVersion, {
      description: 'The version a cluster has, and the one it shall have.',
      ...clusterVersionSchema,
      columns: [
        column('Version', '.status.history[?(@.state=="Completed")].version'),
        column('Available', status('Available')),
        column('Progressing', status('Progressing')),
        column('Since', '.status.conditions[?(@.type=="Progressing")].lastTransitionTime', 'date'),
        column('Status', '.status.conditions[?(@.type=="Progressing")].message'),
      ],
    }),
    crd(ClusterOperator, {
      description: 'How an operator of the cluster is.',
      ...clusterOperatorSchema,
      shortNames: ['co'],
      columns: [
        column('Version', '.status.versions[?(@.name=="operator")].version'),
        column('Available', status('Available')),
        column('Progressing', status('Progressing')),
        column('Degraded', status('Degraded')),
        column('Since', '.status.conditions[?(@.type=="Available")].lastTransitionTime', 'date'),
      ],
    }),
  ];
}
