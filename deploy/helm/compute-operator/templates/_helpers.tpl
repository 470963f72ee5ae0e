{{- define "compute-operator.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "compute-operator.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- else if contains (include "compute-operator.name" .) .Release.Name -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "compute-operator.name" .) | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "compute-operator.serviceAccountName" -}}
{{- default (ternary (include "compute-operator.fullname" .) "default" .Values.serviceAccount.create) .Values.serviceAccount.name -}}
{{- end -}}

{{- define "compute-operator.selectorLabels" -}}
app.kubernetes.io/name: {{ include "compute-operator.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "compute-operator.labels" -}}
{{- include "compute-operator.labelsWith" (dict "root" . "labels" dict) -}}
{{- end -}}

{{- /* The labels of an object: its own, then `labels`, then commonLabels; the first to set a label wins. */ -}}
{{- define "compute-operator.labelsWith" -}}
{{- $own := include "compute-operator.ownLabels" .root | fromYaml -}}
{{- toYaml (merge $own .labels .root.Values.commonLabels) -}}
{{- end -}}

{{- define "compute-operator.ownLabels" -}}
{{ include "compute-operator.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "compute-operator.podLabels" -}}
{{- $own := include "compute-operator.selectorLabels" . | fromYaml -}}
{{- toYaml (merge $own .Values.podLabels .Values.commonLabels) -}}
{{- end -}}

{{- define "compute-operator.image" -}}
{{- with .Values.image.registry }}{{ . }}/{{ end }}{{ .Values.image.repository -}}
{{- if .Values.image.digest -}}
@{{ .Values.image.digest }}
{{- else -}}
:{{ default .Chart.AppVersion .Values.image.tag }}
{{- end -}}
{{- end -}}

{{- define "compute-operator.topologySpreadConstraints" -}}
{{- $pods := dict "matchLabels" (include "compute-operator.selectorLabels" . | fromYaml) -}}
{{- $nodes := dict "maxSkew" 1 "topologyKey" "kubernetes.io/hostname" "whenUnsatisfiable" .Values.spreadOverNodes -}}
{{- $constraints := list -}}
{{- range default (list $nodes) .Values.topologySpreadConstraints -}}
{{- $constraints = append $constraints (hasKey . "labelSelector" | ternary . (set (deepCopy .) "labelSelector" $pods)) -}}
{{- end -}}
{{- toYaml $constraints -}}
{{- end -}}

{{- define "compute-operator.subject" -}}
- kind: ServiceAccount
  name: {{ include "compute-operator.serviceAccountName" . }}
  namespace: {{ .Release.Namespace }}
{{- end -}}

{{- /* Binds a ClusterRole: everywhere, or in each of the namespaces that are looked after. */ -}}
{{- define "compute-operator.binding" -}}
{{- $root := .root -}}
{{- $name := .name -}}
{{- if $root.Values.namespaces -}}
{{- range $root.Values.namespaces }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: {{ $name }}
  namespace: {{ . }}
  labels:
    {{- include "compute-operator.labels" $root | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: {{ $name }}
subjects:
  {{- include "compute-operator.subject" $root | nindent 2 }}
{{- end }}
{{- else }}
---
{{ include "compute-operator.clusterBinding" . }}
{{- end }}
{{- end -}}

{{- define "compute-operator.clusterBinding" -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: {{ .name }}
  labels:
    {{- include "compute-operator.labels" .root | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: {{ .name }}
subjects:
  {{- include "compute-operator.subject" .root | nindent 2 }}
{{- end -}}

{{- /* The owner of an object of the cluster, if that is not this release. */ -}}
{{- define "compute-operator.otherOwner" -}}
{{- $annotations := default dict .object.metadata.annotations -}}
{{- $labels := default dict .object.metadata.labels -}}
{{- $name := index $annotations "meta.helm.sh/release-name" -}}
{{- $namespace := index $annotations "meta.helm.sh/release-namespace" -}}
{{- if or (not $name) (ne (index $labels "app.kubernetes.io/managed-by") "Helm") -}}
no Helm release, but to what kubectl applied
{{- else if or (ne $name .root.Release.Name) (ne $namespace .root.Release.Namespace) -}}
the release {{ $name }} in the namespace {{ $namespace }}
{{- end -}}
{{- end -}}

{{- /* Refuses at once, with the way, what Helm would refuse without one: objects of another installation. */ -}}
{{- define "compute-operator.refuseOthers" -}}
{{- $release := printf "meta.helm.sh/release-name=%s meta.helm.sh/release-namespace=%s" .Release.Name .Release.Namespace -}}
{{- $role := include "compute-operator.fullname" . -}}
{{- with lookup "rbac.authorization.k8s.io/v1" "ClusterRole" "" $role -}}
{{- with include "compute-operator.otherOwner" (dict "object" . "root" $) -}}
{{- $way := contains "no Helm release" . | ternary "`kubectl delete -k deploy/base`" "`helm uninstall NAME -n NAMESPACE`" -}}
{{- fail (printf "the ClusterRole %s belongs to %s. Remove that installation first with %s, which keeps the CRDs, every Compute and every endpoint, and install this one again. Or let both run, each for objects of its own: set fullnameOverride, crds.enabled=false and operator.selector." $role . $way) -}}
{{- end -}}
{{- end -}}
{{- if and .Values.crds.enabled .Values.crds.install -}}
{{- $crds := list -}}
{{- range $path, $_ := .Files.Glob "files/crds/*.yaml" -}}
{{- $crds = append $crds (printf "crd/%s" ($.Files.Get $path | fromYaml).metadata.name) -}}
{{- end -}}
{{- range $crds -}}
{{- $crd := . -}}
{{- with lookup "apiextensions.k8s.io/v1" "CustomResourceDefinition" "" (trimPrefix "crd/" .) -}}
{{- with include "compute-operator.otherOwner" (dict "object" . "root" $) -}}
{{- fail (printf "%s belongs to %s. If that installation is gone, hand the CRDs over to this one, and install it again:\n\n  kubectl annotate --overwrite %s %s\n  kubectl label --overwrite %s app.kubernetes.io/managed-by=Helm\n\nIf it is still there, or CRDs are installed by other means, set crds.enabled=false." $crd . (join " " $crds) $release (join " " $crds)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
