import type { ComponentOverride } from '@flotilla/api/config';
import { type EnabledCapabilities, exclusionOf, type Manifest, type PayloadState } from '@flotilla/release';
import type { LoadedRelease } from '../payload/release.ts';

/** The release to apply to a cluster, and the choices of its administrator. */
export interface Work {
  /** Generation of the ClusterVersion that asks for it. */
  readonly generation: number;
  readonly release: LoadedRelease;
  readonly force: boolean;
  readonly overrides: readonly ComponentOverride[];
  readonly capabilities: EnabledCapabilities;
  /** State in which it begins as the first work after a start. */
  readonly firstState: PayloadState;
}

/** Identity of a work: a change of any part restarts the work (spec/cvo 4.3). */
export const identityOf = ({ release, force, overrides, capabilities }: Work): string =>
  JSON.stringify([release.release.image, force, overrides, [...capabilities.enabled].sort(), [...release.featureGates].sort()]);

/** True for a Secret, which an operator that only observes has no right to read. */
export const isSecret = ({ group, kind }: Manifest): boolean => group === '' && kind === 'Secret';

/** True when a manifest is applied now: its capabilities are enabled, and nobody else manages its object. */
export const isApplied = (manifest: Manifest, { capabilities, overrides }: Work): boolean =>
  exclusionOf(manifest, { capabilities, overrides }) === undefined;
