export { fetchAnswer, type HttpRequest, type OpenAnswer, openAnswer } from './answer.ts';
export { readBounded } from './body.ts';
export {
  type AddressGuard,
  type ConnectionOptions,
  type Connections,
  FollowingConnections,
  openConnections,
  type ProxySettings,
} from './connections.ts';
export { Deadline } from './deadline.ts';
export { HttpError, HttpErrorCode } from './errors.ts';
export { MAX_REDIRECTS } from './redirects.ts';
export { parseRetryAfter, type RetryPolicy, withRetries } from './retry.ts';
export { readCertificates, type TlsMaterial, tlsContext } from './trust.ts';
