export { type EventSubject, type EventToRecord, eventSubject } from '@flotilla/api/core';
export { type BackOff, backOffMs, type Clock, earliest, pause, Semaphore, systemClock } from '@flotilla/pace';
export { type ApplyFields, createObjectAccess, type ObjectAccess } from './any-kind.ts';
export { Autoscalers, scaledKeyOf, scaleTargetOf } from './autoscalers.ts';
export { type Client, createMissing, type Reading, type WatchEvent, type WatchOptions } from './client.ts';
export { createClient, createClientOver } from './create-client.ts';
export {
  groupVersion,
  matchesLookup,
  noMatchesForKind,
  parseResourceSpelling,
  qualifiedName,
  readServedResources,
  type ServedResource,
  ServerRefusal,
} from './discovery.ts';
export {
  ApiError,
  isAlreadyExists,
  isConflict,
  isForbidden,
  isNotFound,
  isRefusedContent,
  isTooLarge,
  isUntrusted,
  RuntimeErrorCode,
} from './errors.ts';
export { createEventRecorder, type EventRecorder, logOnly, troubleEvents } from './event-recorder.ts';
export { mergeKubeconfigs, readContextNamespace, readServerAddress, type ServerAddress } from './kubeconfig.ts';
export { runWithLease } from './leader-election.ts';
export { createLogger, type Logger } from './logger.ts';
export { createMetrics, type Metrics, type MetricTable, type Sample, serveSamples } from './metrics.ts';
export type { Change } from './object-store.ts';
export {
  checkOptions,
  describeOptions,
  type OptionRows,
  option,
  pathFromCaller,
  proxiesOf,
  proxySettings,
  proxyUrl,
  proxyVariables,
  readOptionFile,
  readOptions,
  schemaOf,
} from './options.ts';
export { serveProbes } from './probes.ts';
export { type Program, type ProgramOptions, runProgram } from './program.ts';
export type { BackendOptions, OpenBackend, QueueBackend } from './queue-backend.ts';
export {
  type ReconcileContext,
  type ReconcileResult,
  type Reconciler,
  type ReconcilerOptions,
  startReconciler,
  type Trouble,
} from './reconciler.ts';
export { RefusedValues, refusedText } from './refused-values.ts';
export { patchStatus, replaceStatus, SentStatus, writeTaken } from './status.ts';
export { requestToken } from './token-request.ts';
export { type AnswerStream, type Call, type Exchange, refusedAnswer } from './transport.ts';
export { BUILD_CONSTANTS, type Build, readBuild, versionLine } from './version.ts';
export { WatchCache, type WatchSurroundings } from './watch-cache.ts';
export { type Channel, createChannel, type Watch, watch, whenChanged } from './watches.ts';
