import { FlotillaError } from '@flotilla/api';

/** No source gives a tool: neither KUBEBUILDER_ASSETS, nor the cache, nor a Go build. The message says what to do. */
export class ToolsUnavailableError extends FlotillaError {
  constructor(message: string, options?: { cause?: unknown }) {
    super('FLOTILLA_TOOLS_UNAVAILABLE', message, options);
  }
}

/** A program of the operating system is missing and could not be installed. */
export class PackagesMissingError extends FlotillaError {
  constructor(message: string, options?: { cause?: unknown }) {
    super('FLOTILLA_PACKAGES_MISSING', message, options);
  }
}

/** A server ended or stayed silent while it started; the message carries the end of its log. */
export class ServerStartError extends FlotillaError {
  constructor(message: string, options?: { cause?: unknown }) {
    super('FLOTILLA_SERVER_START_FAILED', message, options);
  }
}

/** A command ended with another exit code than 0, or took too long. */
export class CommandError extends FlotillaError {
  constructor(message: string, options?: { cause?: unknown }) {
    super('FLOTILLA_COMMAND_FAILED', message, options);
  }
}
