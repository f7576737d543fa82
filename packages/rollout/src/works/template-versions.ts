/** One run of a rollout has one version: each template as it was when the rollout began. Pure. */
import { Annotation, perObject } from '@flotilla/api';
import type { ManifestWorkReplicaSet } from '@flotilla/api/ocm';
import type { ClusterGroupUpgrade, ClusterGroupUpgradeStatus } from '@flotilla/api/ran';
import { templatesOf } from '../upgrade/stage.ts';
import { digestOf } from '../values/json-value.ts';
import { notFound, type Wait } from '../waits/wait.ts';

type FindTemplate = (name: string) => ManifestWorkReplicaSet | undefined;

/** Digest of everything that a work takes from its template; one that was made again with the same content is the same. */
const versionOf = perObject(({ metadata, spec }: ManifestWorkReplicaSet): string =>
  digestOf([spec?.manifestWorkTemplate ?? {}, metadata.annotations?.[Annotation.expectedValues] ?? '']),
);

/** The status with the versions of the rollout's templates, once they are known; a rollout that another program began gets them later. */
export function withTemplateVersions(
  upgrade: ClusterGroupUpgrade,
  status: ClusterGroupUpgradeStatus,
  find: FindTemplate,
): ClusterGroupUpgradeStatus {
  const templates = templatesOf(upgrade);
  if (templates.length === 0 || status.manifestWorkVersions !== undefined) return status;
  const found = templates.map(find).filter((template) => template !== undefined);
  return found.length < templates.length ? status : { ...status, manifestWorkVersions: found.map(versionOf) };
}

/** True where works of the template would be of the version that the rollout began with. */
export function isRolloutsVersion(upgrade: ClusterGroupUpgrade, template: ManifestWorkReplicaSet): boolean {
  const version = upgrade.status?.manifestWorkVersions?.[templatesOf(upgrade).indexOf(template.metadata.name)];
  return version === undefined || version === versionOf(template);
}

/** The wait of a rollout whose template is gone or has been edited since it began: what comes next would not be what was proven before. @param isServed the API server serves templates */
export function findOtherVersion(upgrade: ClusterGroupUpgrade, find: FindTemplate, isServed = true): Wait | undefined {
  for (const name of upgrade.status?.manifestWorkVersions === undefined ? [] : templatesOf(upgrade)) {
    const template = find(name);
    if (template && isRolloutsVersion(upgrade, template)) continue;
    const object = `ManifestWorkReplicaSet ${upgrade.metadata.namespace}/${name}`;
    if (!template) return { cause: 'work', ...absence(object, isServed), of: notFound(object) };
    return {
      cause: 'work',
      says: `${object} is not what the rollout began with: nobody further gets it`,
      fix: 'put it back as it was, or delete the upgrade and create it again to roll the new version out from the canaries on',
      of: { object, field: 'metadata.generation', value: String(template.metadata.generation ?? '?') },
    };
  }
  return undefined;
}

const absence = (object: string, isServed: boolean): Pick<Wait, 'says' | 'fix'> =>
  isServed
    ? { says: `${object} is gone`, fix: 'create it again as it was, or delete the upgrade' }
    : { says: `the API server serves no ManifestWorkReplicaSet: ${object} cannot be seen`, fix: 'have it served again' };
