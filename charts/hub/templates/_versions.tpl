{{- /* Refuses a version that is not beside the installed one: each knows its neighbours' objects alone. Renders nothing. */ -}}
{{- define "hub.refuseSkippedMinor" -}}
{{- $found := lookup "apps/v1" "Deployment" .Release.Namespace (include "hub.fullname" .) | default dict -}}
{{- $there := dig "metadata" "labels" "app.kubernetes.io/version" "" $found -}}
{{- if regexMatch "^\\d+\\.\\d+\\.\\d+" $there -}}
{{- $old := semver $there -}}
{{- $new := semver .Chart.AppVersion -}}
{{- $minors := sub (int $new.Minor) (int $old.Minor) -}}
{{- $majors := sub (int $new.Major) (int $old.Major) -}}
{{- $isBeside := or (and (eq $majors 0) (le $minors 1) (ge $minors -1)) (and (eq $majors 1) (eq (int $new.Minor) 0)) (and (eq $majors -1) (eq (int $old.Minor) 0)) -}}
{{- if not $isBeside -}}
{{- fail (printf "version %s is installed, and %s is not the minor version before or after it: install each minor version between them first (docs/operations.md); nothing was changed" $there .Chart.AppVersion) -}}
{{- end -}}
{{- end -}}
{{- end -}}
