import type { ComponentOverride } from '@flotilla/api/config';
import { type EnabledCapabilities, exclusionOf, type Manifest, type PayloadState } from '@flotilla/release';
import type { LoadedRelease } from '../payload/release.ts';

/** What is to be made of a cluster. */
export interface Work {
  /** Generation of the ClusterVersion that asks for it. */
  readonly generation: number;
  readonly release: LoadedRelease;
  readonly force: boolean;
  readonly overrides: readonly ComponentOverride[];
  readonly capabilities: EnabledCapabilities;
  /** What it is for when it is the first work after a start. */
  readonly firstState: PayloadState;
}

/** What a change of makes an update of all (spec/cvo 4.3). */
export const identityOf = ({ release, force, overrides, capabilities }: Work): string =>
  JSON.stringify([release.release.image, force, overrides, [...capabilities.enabled].sort(), [...release.featureGates].sort()]);

/** Whoever only observes has no right to read it. */
export const isSecret = ({ group, kind }: Manifest): boolean => group === '' && kind === 'Secret';

/** Whether a manifest is applied now: its capabilities are enabled, and nobody else manages its object. */
export const isApplied = (manifest: Manifest, { capabilities, overrides }: Work): boolean =>
  exclusionOf(manifest, { capabilities, overrides }) === undefined;
