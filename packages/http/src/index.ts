export { fetchAnswer, type HttpRequest, MAX_REDIRECTS, type OpenAnswer, openAnswer, readBounded } from './answer.ts';
export {
  type AddressGuard,
  type ConnectionOptions,
  type Connections,
  FollowingConnections,
  openConnections,
  type ProxySettings,
  readCertificates,
  type TlsMaterial,
  tlsContext,
} from './connections.ts';
export { Deadline } from './deadline.ts';
export { HttpError, HttpErrorCode, ServiceError, ServiceErrorCode } from './errors.ts';
export { createPrometheus, type Prometheus, promqlString, QueryAnswer, type Sample } from './monitoring.ts';
export { parseRetryAfter, type RetryPolicy, withRetries } from './retry.ts';
export {
  createHttp,
  type Http,
  type HttpCall,
  type HttpSurroundings,
  MAX_MONITOR_BYTES,
  monitorList,
  NO_RETRY,
  parseJson,
  type ServiceOptions,
} from './service.ts';
