import type { ClusterVersion } from '@flotilla/api/config';
import type { UpdateError } from '../graph/update-error.ts';
import type { Verdict } from './conditions.ts';

/** Steps of taking a release, in order; they are the reasons of the ReleaseAccepted condition. */
export type AcceptanceStep = 'RetrievePayload' | 'LoadPayload' | 'VerifyPayloadVersion' | 'PreconditionChecks' | 'PayloadLoaded';

/** A release as messages name it. */
export interface NamedRelease {
  readonly version: string;
  readonly image: string;
}

/** State of the acceptance of the desired release. */
export interface Acceptance {
  readonly step: AcceptanceStep;
  readonly message: string;
  /** The step failed: what was applied before goes on being applied. */
  readonly failed: boolean;
  readonly release: NamedRelease;
  /** The operator began with it: neither verified nor checked. */
  readonly local: boolean;
  readonly verified: boolean;
  /** Why it was taken all the same; empty for no reason. */
  readonly acceptedRisks: string;
}

/** An event about a release. */
export interface AcceptanceEvent {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

/** A release as messages name it: quoted version and image. */
const inMessages = ({ version, image }: NamedRelease): string => `version=${JSON.stringify(version)} image=${JSON.stringify(image)}`;

/** The words of a step that begins and of one that failed, and the reason of the event about a failure. */
const steps: Readonly<Record<AcceptanceStep, { readonly begins: string; readonly failed: string; readonly event: string }>> = {
  RetrievePayload: { begins: 'Retrieving and verifying payload', failed: 'Retrieving payload failed', event: 'RetrievePayloadFailed' },
  LoadPayload: { begins: 'Loading payload', failed: 'Loading payload failed', event: 'LoadPayloadFailed' },
  VerifyPayloadVersion: { begins: 'Verifying payload version', failed: 'Verifying payload failed', event: 'VerifyPayloadVersionFailed' },
  PreconditionChecks: {
    begins: 'Checking preconditions of payload',
    failed: 'Preconditions failed for payload loaded',
    event: 'PreconditionBlock',
  },
  PayloadLoaded: { begins: 'Payload loaded', failed: 'Payload loaded', event: 'PayloadLoadedFailed' },
};

const failedText = (step: AcceptanceStep, release: NamedRelease, why: string): string =>
  `${steps[step].failed} ${inMessages(release)}${step === 'PreconditionChecks' ? ': ' : ' failure='}${why}`;

/** Message of a release that is taken; without an architecture, one that the cluster came back to. */
export function loadedMessage(release: NamedRelease, architecture?: string): string {
  const of = `Payload loaded ${inMessages(release)}`;
  return architecture === undefined ? of : `${of} architecture=${JSON.stringify(architecture)}`;
}

/** Message of a step that is under way. */
export const stepMessage = (step: AcceptanceStep, release: NamedRelease): string => `${steps[step].begins} ${inMessages(release)}`;

/** Message of a step that failed. */
export const stepFailedMessage = (step: AcceptanceStep, release: NamedRelease, { message }: Pick<UpdateError, 'message'>): string =>
  failedText(step, release, message);

/** Why the version of a release is not the one that was asked for. */
export const wrongVersionMessage = (found: string, wanted: string): string =>
  `release image version ${found} does not match the expected upstream version ${wanted}`;

/** Event of a step that begins; some have none. */
export function stepEvent(step: AcceptanceStep, release: NamedRelease): AcceptanceEvent | undefined {
  if (step !== 'RetrievePayload' && step !== 'LoadPayload') return undefined;
  return { type: 'Normal', reason: step, message: stepMessage(step, release) };
}

/** Event of a step that failed, with all that led to it. */
export function stepFailedEvent(step: AcceptanceStep, release: NamedRelease, error: Error): AcceptanceEvent {
  const message = failedText(step, release, chainOf(error).join(': '));
  return { type: 'Warning', reason: steps[step].event, message: message.replaceAll('\n', ' // ') };
}

/** Event of preconditions that hold, or that are gone past. */
export function preconditionsEvent(release: NamedRelease, acceptedRisks: string): AcceptanceEvent {
  const of = `payload loaded ${inMessages(release)}`;
  return acceptedRisks === ''
    ? { type: 'Normal', reason: 'PreconditionsPassed', message: `preconditions passed for ${of}` }
    : { type: 'Warning', reason: 'PreconditionWarn', message: `precondition warning for ${of}: ${acceptedRisks}`.replaceAll('\n', ' // ') };
}

/** Event of a release that is taken. */
export const loadedEvent = (release: NamedRelease, architecture: string): AcceptanceEvent => ({
  type: 'Normal',
  reason: 'PayloadLoaded',
  message: loadedMessage(release, architecture),
});

/**
 * The acceptance of an update that is asked for by a version which no update has any more; undefined for any other request. Such a version is
 * valid, because the cluster ran it before.
 * @param wanted the release that was found for it
 */
export function unfoundUpdate({ spec, status }: ClusterVersion, wanted: NamedRelease | undefined): Acceptance | undefined {
  const { version = '', image = '', architecture = '' } = spec.desiredUpdate ?? {};
  if (wanted || image !== '' || (version === '' && architecture === '')) return undefined;
  const ran = architecture === '' ? status?.history?.find((entry) => entry.version === version && entry.image !== '') : undefined;
  const what = architecture === '' ? `version ${JSON.stringify(version)}` : `architecture ${JSON.stringify(architecture)}`;
  const fix = ran ? `, which this cluster ran before; to go there set spec.desiredUpdate.image to ${JSON.stringify(ran.image)}` : '';
  const release = { version, image: '' };
  const message = failedText('RetrievePayload', release, `no available update has ${what}${fix}`);
  return { step: 'RetrievePayload', message, failed: true, release, local: false, verified: false, acceptedRisks: '' };
}

/** An error's text and those of its causes, as far as they add something. */
function chainOf(error: Error): string[] {
  const texts: string[] = [];
  for (let each: unknown = error; each instanceof Error && texts.length < 10; each = each.cause)
    if (!texts.some((text) => each instanceof Error && text.includes(each.message))) texts.push(each.message);
  return texts;
}

/** Why a release was taken all the same, with the risks of the update that the admin named. */
export function acceptedRisksOf(parts: readonly string[], exposed?: { readonly image: string; readonly names: readonly string[] }): string {
  const text = parts.filter((part) => part !== '').join('\n');
  if (!exposed || exposed.names.length === 0) return text;
  const names = `exposed to the risks [${exposed.names.join(', ')}] which were all explicitly accepted by the cluster administrator.`;
  return text === '' ? `The target release ${exposed.image} is ${names}` : `${text}; It is ${names}`;
}

/** Makes the ReleaseAccepted condition. */
export function acceptedOf({ step, message, failed }: Acceptance): Verdict {
  const status = step === 'PayloadLoaded' ? 'True' : failed ? 'False' : 'Unknown';
  return { type: 'ReleaseAccepted', status, reason: step, message };
}
