// An InferStudy as tables for a terminal, JSON, CSV and a page.
#pragma once

#include <string>

#include "coordinator/report/infer_study.h"
#include "coordinator/report/table.h"

namespace noisefloor::report {

// A matrix for each plan and point of the axes: a row for each class that trained, a column for
// each that evaluates. UTF-8; ends with a newline.
std::string RenderInferTables(const InferStudy& study, const Screen& screen = {});

// Names are those of the fields; not finite numbers are "nan", "inf", "-inf", absent ones null.
// Ends with a newline.
std::string InferToJson(const InferStudy& study);

// Header: plan,axes,train_hardware,train_stack,infer_hardware,infer_stack,group,metric,value,low,
// high,n,note. Metrics: top1, top1_difference, churn, identical; of a group, "camera: left", its
// churn. Numbers in full precision; what is absent is empty. As StudyToCsv otherwise.
std::string InferToCsv(const InferStudy& study);

// The tables as one HTML file without a script.
std::string RenderInferPage(const InferStudy& study);

}  // namespace noisefloor::report
