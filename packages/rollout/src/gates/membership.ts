/** Decides by an annotation of people whether clusters that are selected after the start belong to a rollout. Pure. */
import { Annotation } from '@flotilla/api';
import { type ClusterGroupUpgrade, cutAtWord, explain } from '@flotilla/api/ran';

type Upgrade = Pick<ClusterGroupUpgrade, 'metadata' | 'spec'>;

/** True when they join; else the clusters are those of the start, as in the reference. */
export const isOpenToMembers = (upgrade: Upgrade): boolean =>
  upgrade.metadata.annotations?.[Annotation.membership] === 'add' && findMembershipProblem(upgrade) === undefined;

/** Problem of the annotation, with the fix; undefined when there is none. */
export function findMembershipProblem({ metadata: { annotations = {} }, spec }: Upgrade): string | undefined {
  const value = annotations[Annotation.membership];
  if (value === undefined || value === 'frozen') return undefined;
  const problem = `Annotation ${Annotation.membership} is ${JSON.stringify(cutAtWord(value))}`;
  if (value !== 'add') return explain('InvalidMembership', `${problem}, which is not known`);
  return spec?.backup === true
    ? explain('InvalidMembership', `${problem}, and spec.backup is true: clusters that join have no backup`)
    : undefined;
}
