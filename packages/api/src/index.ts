export {
  Condition,
  conditionTime,
  datedCondition,
  describeUnprocessed,
  findCondition,
  isSpecUnprocessed,
  withCondition,
} from './conditions.ts';
export type { CrdManifest } from './crd.ts';
export { errorMessage, FlotillaError, TerminalError, WaitingError } from './errors.ts';
export { foreign, readable } from './foreign.ts';
export { isJsonObject, isSameJson, mergePatch, mergePatched, parseJson, readJson } from './json.ts';
export {
  KubeObject,
  LabelSelector,
  managedFieldsOf,
  ObjectMeta,
  type Ref,
  type Resource,
  refKey,
  refOfKey,
  resource,
  untyped,
} from './kubernetes.ts';
export { limitsOf, limitsOfSchema } from './limits.ts';
export { readNamePattern } from './name-pattern.ts';
export { Annotation, FIELD_MANAGER, Label, OWED_PINS, SccRole } from './names.ts';
export { perObject } from './per-object.ts';
