{{- /* One entry for each section of each page: path, page, anchor, heading, text. */ -}}
{{- $entries := slice -}}
{{- range site.Pages -}}
  {{- if .Content -}}
  {{- $title := partial "heading.html" . | plainify | strings.TrimSpace -}}
  {{- $path := strings.TrimPrefix "/" (cond .IsHome "index.html" (partial "address.html" .)) | strings.TrimPrefix "./" -}}
  {{- range $i, $part := split (replaceRE `<h[23] id=` "\x00" (replaceRE `<h1.*</h1>` "" .Content)) "\x00" -}}
    {{- $anchor := "" -}}{{- $heading := "" -}}
    {{- if $i -}}
      {{- with index (findRESubmatch `^"([^"]*)">(.*?)</h[23]>` $part 1) 0 -}}{{- $anchor = index . 1 -}}{{- $heading = index . 2 | plainify | htmlUnescape -}}{{- end -}}
    {{- end -}}
    {{- $text := replaceRE `^"[^"]*">.*?</h[23]>` "" $part | plainify | htmlUnescape -}}
    {{- $entries = $entries | append (dict "path" $path "title" ($title | htmlUnescape) "anchor" $anchor "heading" $heading
      "text" (trim (replaceRE `\s+` " " $text) " ")) -}}
  {{- end -}}
  {{- end -}}
{{- end -}}
window.searchIndex = {{ $entries | jsonify (dict "noHTMLEscape" false) }};
