import { createHttp, type HttpSurroundings } from '@flotilla/http';

/** Options of the client; `url` gives undefined where there is no such operator. No credential is sent: it asks for none, and the way is not encrypted. */
interface DeploymentValidationOptions extends HttpSurroundings {
  readonly url: () => Promise<URL | undefined>;
}

const MAX_BYTES = 32 * 2 ** 20;

/** A client of the deployment validation operator (spec/muo 8.7). Opens nothing before the first call. */
export function createDeploymentValidation({ url, ...options }: DeploymentValidationOptions) {
  const http = createHttp({ ...options, name: 'Deployment validation operator', maxBytes: MAX_BYTES });
  return {
    /** The whole exposition; undefined where there is no such operator. */
    async metrics(signal?: AbortSignal): Promise<string | undefined> {
      const at = await url();
      return at && (await http.send({ method: 'GET', url: new URL('/metrics', at), signal })).text;
    },
    [Symbol.asyncDispose]: () => http[Symbol.asyncDispose](),
  };
}
