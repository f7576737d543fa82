import { saidText } from '../errors.ts';
import type { Manifest } from '../payload/manifest.ts';
import { PassEndedError, type UpdateEffect, UpdateError } from './update-error.ts';

/** An error of a pass, and the manifest it is about where there is one. */
export interface PassError {
  readonly error: unknown;
  readonly manifest?: Manifest;
}

const plurals: Readonly<Record<string, readonly [reason: string, text: string]>> = {
  ClusterOperatorNotAvailable: ['ClusterOperatorsNotAvailable', 'are not available'],
  ClusterOperatorDegraded: ['ClusterOperatorsDegraded', 'are degraded'],
  ClusterOperatorUpdating: ['ClusterOperatorsUpdating', 'are updating versions'],
  ClusterOperatorNoVersions: ['ClusterOperatorsNoVersions', 'do not declare expected versions'],
};

/** From the least to the worst; one without an effect counts as no failure here. */
const effects: readonly UpdateEffect[] = ['Report', 'None', 'FailAfterInterval', 'Fail'];
const rankOf = (effect: UpdateEffect | undefined): number => effects.indexOf(effect ?? 'None');

/** A release has a thousand manifests, and each may be refused at length. */
const MOST_MESSAGES = 20;
/** Characters that are repeated of what each of several operators says. */
const MOST_SAID = 200;

/**
 * One error for all of a pass: those of ClusterOperators with the same reason become one, and several are listed. Undefined when the pass
 * only ended early.
 */
export function summarizeErrors(errors: readonly PassError[]): UpdateError | undefined {
  const own = errors.filter(({ error }) => !(error instanceof PassEndedError));
  const isOfOperator = ({ error, manifest }: PassError) =>
    error instanceof UpdateError && manifest !== undefined && isClusterOperator(manifest);
  const others = own.filter((one) => !isOfOperator(one)).map(({ error }) => error);
  const summaries = [...others, ...groupOperators(own.filter(isOfOperator))];
  if (summaries.length <= 1) return summaries[0] === undefined ? undefined : asUpdateError(summaries[0]);
  const messages = [...new Set(summaries.map(messageOf))].sort();
  const more = messages.length > MOST_MESSAGES ? [`and ${messages.length - MOST_MESSAGES} more`] : [];
  const listed = [...messages.slice(0, MOST_MESSAGES), ...more];
  return new UpdateError({
    reason: 'MultipleErrors',
    message: `Multiple errors are preventing progress:${listed.map((message) => `\n* ${message}`).join('')}`,
    cause: new AggregateError(summaries),
  });
}

const isClusterOperator = ({ group, version, kind }: Manifest): boolean =>
  group === 'config.openshift.io' && version === 'v1' && kind === 'ClusterOperator';

function groupOperators(errors: readonly PassError[]): UpdateError[] {
  const all = errors.flatMap(({ error }) => (error instanceof UpdateError ? [error] : []));
  return [...Map.groupBy(all, ({ reason }) => reason)]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([reason, group]) => joinOperators(reason, group) ?? group);
}

/** Several errors of one reason as one; undefined when there is but one, or no text for several. */
function joinOperators(reason: string, group: readonly UpdateError[]): UpdateError | undefined {
  const plural = plurals[reason];
  if (group.length <= 1 || plural === undefined) return undefined;
  const names = group.flatMap(({ names }) => names).sort();
  const effect = group.map((error) => error.effect).reduce((worst, one) => (rankOf(one) > rankOf(worst) ? one : worst));
  return new UpdateError({
    reason: plural[0],
    message: `Cluster operators ${names.join(', ')} ${plural[1]}${wordsOf(group)}`,
    effect,
    names,
    cause: new AggregateError(group),
  });
}

/** Messages of the operators themselves, each behind its name. */
function wordsOf(group: readonly UpdateError[]): string {
  const words = group.flatMap(({ names, said }) => (said ? [`${names.join(', ')}: ${saidText(said, MOST_SAID)}`] : []));
  return words.length === 0 ? '' : `: ${words.sort().join('; ')}`;
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
const asUpdateError = (error: unknown): UpdateError =>
  error instanceof UpdateError ? error : new UpdateError({ reason: '', message: messageOf(error), cause: error });

const texts: Readonly<Record<string, string>> = {
  UpdatePayloadResourceNotFound: 'some resources could not be updated',
  UpdatePayloadResourceConflict: 'some resources could not be updated',
  UpdatePayloadClusterDown: 'the control plane is down or not responding',
  UpdatePayloadClusterError: 'the control plane is reporting an internal error',
  UpdatePayloadClusterOverloaded: 'the control plane is overloaded and is not accepting updates',
  UpdatePayloadClusterUnauthorized: 'could not authenticate to the server',
  UpdatePayloadRetrievalFailed: 'could not download the update',
  UpdatePayloadResourceForbidden: 'the server is rejecting updates',
  UpdatePayloadResourceTypeMissing: 'a required extension is not available to update',
  UpdatePayloadResourceInvalid: 'some cluster configuration is invalid',
  UpdatePayloadIntegrity: 'the contents of the update are invalid',
  ImageVerificationFailed: 'the image may not be safe to use',
  UpgradePreconditionCheckFailed: 'it may not be safe to apply this update',
  ClusterOperatorsNotAvailable: 'some cluster operators are not available',
};

/** Kind of the objects that an error is about, and the fault of one. */
const subjects: Readonly<Record<string, readonly [kind: string, what: string]>> = {
  ClusterOperatorDegraded: ['cluster operator', 'is degraded'],
  ClusterOperatorNotAvailable: ['cluster operator', 'is not available'],
  ClusterOperatorNoVersions: ['cluster operator', 'does not declare expected versions'],
  WorkloadNotAvailable: ['workload', 'has not yet successfully rolled out'],
  WorkloadNotProgressing: ['workload', 'cannot roll out'],
};

/** Text of the Progressing condition about a reason. */
export function summaryForReason(reason: string, name = ''): string {
  const [kind, what] = subjects[reason] ?? [];
  if (kind !== undefined) return name === '' ? `a ${kind} ${what}` : `the ${kind} ${name} ${what}`;
  const text = texts[reason] ?? (reason.startsWith('UpdatePayload') ? 'the update could not be applied' : undefined);
  return text ?? (name === '' ? `an unknown error has occurred: ${reason}` : `${name} has an unknown error: ${reason}`);
}
