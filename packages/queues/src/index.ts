export { StepTimeoutError, StoreUnavailableError } from './errors.ts';
export type { ConsumerOptions, JobConsumer, JobProducer, Log, NewJob, QueueStore } from './job-store.ts';
export { type StepQueue, type StepQueueOptions, type StepQueueSize, startStepQueue } from './step-queue.ts';
export { openStore, type StoreOptions } from './store.ts';
export { PrecacheStep, type QueueDefinition, queues } from './table.ts';
export { backoffMs, type Outcome } from './worker.ts';
