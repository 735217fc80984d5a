#include "json/schema.h"

#include "json/write.h"

void json_schema_type(struct json_writer *w, const char *type)
{
	json_member_string(w, "type", type);
}

void json_schema_begin(struct json_writer *w)
{
	json_object_begin(w);
	json_schema_type(w, "object");
	json_member_object(w, "properties");
}

void json_schema_required(struct json_writer *w)
{
	json_object_end(w);
	json_member_array(w, "required");
}

void json_schema_end(struct json_writer *w, bool open)
{
	json_array_end(w);
	json_member_bool(w, "additionalProperties", open);
	json_object_end(w);
}
