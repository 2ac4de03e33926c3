"""The constructs whose meaning is known: what is on no list here is not understood, and not called a read.

By the names of the parser's node classes, so that one that a later parser adds is unknown until somebody
has looked at it. Functions that a parser class stands for compute, unless `access` says otherwise.
"""

from typing import Final

from sqlglot import exp

from qwed.engines.words import words

_STRUCTURE: Final = words(
    """
    Add Adjacent Alias Aliases All Any AtIndex AtTimeZone Between Binary BitString BitwiseAnd
    BitwiseLeftShift BitwiseNot BitwiseOr BitwiseRightShift BitwiseXor Boolean Bracket ByteString CTE
    Changes CharacterSet Collate Column ColumnDef ColumnPrefix Comprehension Connect Cube DPipe DataType
    DataTypeParam Declare DeclareItem DerivedTable Describe Distance DistanceNd Distinct Distribute Div
    Dot EQ Escape Except ExplodeOuter ExtendsLeft ExtendsRight Fetch Filter Final ForIn FormatJson From
    FromTimeZone GT GTE Glob Group GroupingSets Having HavingMax Heredoc HexString Hint HistoricalData
    ILike Identifier IgnoreNulls In IndexTableHint IntDiv Intersect Interval IntervalOp IntervalSpan Into
    Introducer Is JSON JSONColumnDef JSONExtractQuote JSONKeyValue JSONPath JSONPathFilter JSONPathKey
    JSONPathPart JSONPathRecursive JSONPathRoot JSONPathScript JSONPathSelector JSONPathSlice
    JSONPathSubscript JSONPathUnion JSONPathWildcard JSONSchema JSONValue Join JoinHint Kwarg LT LTE
    Lambda Lateral Like Limit LimitOptions Literal Lock Match MatchRecognize MatchRecognizeMeasure Mod Mul
    NEQ National Nearest Neg NestedJSONSelect Not Null NullSafeEQ NullSafeNEQ ObjectIdentifier Offset
    OnCondition OpenJSONColumnDef Operator Order Ordered OverflowTruncateBehavior Overlaps Parameter Paren
    Partition PartitionId Pivot PivotAlias PivotAny Placeholder PositionalColumn Pragma PreWhere Predicate
    Prior PropertyEQ PseudoType Pseudocolumn Qualify QueryOption RawString RecursiveWithSearch
    RespectNulls Rollup ScopeResolution Select SemanticView SessionParameter Show SimilarTo SkipJSONColumn
    Slice Sort Star Stream Sub Subquery SubqueryPredicate Summarize Table TableAlias TableColumn
    TableFromRows TableSample TimeUnit Tuple UDTF Unary UnicodeString Union UnpivotColumns Values Var
    Variadic Version Where Window WindowSpec With WithFill WithOperator WithTableHint WithinGroup
    XMLKeyValueOption XMLNamespace
    """
)
_CHANGES: Final = words(
    """
    ConditionalInsert Delete EQ Insert Merge MultitableInserts OnCluster OnConflict Returning Schema Set
    SetItem Update When Whens
    """
)
_FUNCTIONS: Final = words(
    """
    Abs Acos Acosh AddMonths Agg And Anonymous AnonymousAggFunc AnyValue ApproxDistinct
    ApproxPercentileAccumulate ApproxPercentileCombine ApproxPercentileEstimate ApproxQuantile
    ApproxQuantiles ApproxTopK ApproxTopKAccumulate ApproxTopKCombine ApproxTopKEstimate ApproxTopSum
    ApproximateSimilarity ArgMax ArgMin Array ArrayAgg ArrayAll ArrayAny ArrayAppend ArrayCompact
    ArrayConcat ArrayConcatAgg ArrayConstructCompact ArrayContainedBy ArrayContains ArrayContainsAll
    ArrayDistinct ArrayExcept ArrayFilter ArrayFirst ArrayInsert ArrayIntersect ArrayLast ArrayMax
    ArrayMin ArrayOverlaps ArrayPosition ArrayPrepend ArrayRemove ArrayRemoveAt ArrayReverse ArraySize
    ArraySlice ArraySort ArraySum ArrayToString ArrayUnionAgg ArrayUniqueAgg ArraysZip Ascii Asin Asinh
    Atan Atan2 Atanh Avg Base64DecodeBinary Base64DecodeString Base64Encode BitLength BitmapBitPosition
    BitmapBucketNumber BitmapConstructAgg BitmapCount BitmapOrAgg BitwiseAndAgg BitwiseCount BitwiseOrAgg
    BitwiseXorAgg Booland Boolnot Boolor BoolxorAgg ByteLength Case Cast CastToStrType Cbrt Ceil CheckJson
    CheckXml Chr CityHash64 Coalesce CodePointsToBytes CodePointsToString Collate Collation
    CombinedAggFunc CombinedParameterizedAgg Compress Concat ConcatWs ConnectByRoot Contains Convert
    ConvertTimezone ConvertToCharset Corr Cos Cosh CosineDistance Cot Coth Count CountIf CovarPop
    CovarSamp Csc Csch CumeDist CurrentAccount CurrentAccountName CurrentAvailableRoles CurrentCatalog
    CurrentClient CurrentDatabase CurrentDate CurrentDatetime CurrentIpAddress CurrentOrganizationName
    CurrentOrganizationUser CurrentRegion CurrentRole CurrentRoleType CurrentSchema CurrentSchemas
    CurrentSecondaryRoles CurrentSession CurrentStatement CurrentTime CurrentTimestamp CurrentTimestampLTZ
    CurrentTimezone CurrentTransaction CurrentUser CurrentUserId CurrentVersion CurrentWarehouse Date
    DateAdd DateBin DateDiff DateFromParts DateFromUnixDate DateStrToDate DateSub DateToDateStr DateToDi
    DateTrunc Datetime DatetimeAdd DatetimeDiff DatetimeSub DatetimeTrunc Day DayOfMonth DayOfWeek
    DayOfWeekIso DayOfYear Dayname Decode DecodeCase DecompressBinary DecompressString Decrypt DecryptRaw
    Degrees DenseRank DiToDate DotProduct Elt Encode Encrypt EncryptRaw EndsWith EqualNull
    EuclideanDistance Exists Exp Explode ExplodingGenerateSeries Extract Factorial FarmFingerprint First
    FirstValue Flatten Float64 Floor Format FromBase FromBase32 FromBase64 FromISO8601Date
    FromISO8601Timestamp FromISO8601TimestampNanos FromJson GapFill GenerateDateArray GenerateSeries
    GenerateTimestampArray Generator GetExtract GetIgnoreCase Getbit Greatest GroupConcat Grouping
    GroupingId HashAgg Hex HexDecodeString Hll Hour If Initcap Inline Int64 IsArray IsAscii IsInf IsNan
    IsNullValue JSONArray JSONArrayAgg JSONArrayAppend JSONArrayContains JSONArrayInsert JSONBContains
    JSONBContainsAllTopKeys JSONBContainsAnyTopKeys JSONBContainsTopKey JSONBDeleteAtPath JSONBExists
    JSONBExtract JSONBExtractScalar JSONBObjectAgg JSONBPathExists JSONBool JSONCast JSONExists
    JSONExtract JSONExtractArray JSONExtractScalar JSONFormat JSONKeys JSONKeysAtDepth JSONObject
    JSONObjectAgg JSONRemove JSONSet JSONStripNulls JSONTable JSONType JSONValueArray
    JarowinklerSimilarity JustifyDays JustifyHours JustifyInterval Kurtosis Lag Last LastDay LastValue
    LaxBool LaxFloat64 LaxInt64 LaxString Lead Least Left Length Levenshtein List Ln Localtime
    Localtimestamp Log LogicalAnd LogicalOr Lower LowerHex MD5 MD5Digest MD5NumberLower64 MD5NumberUpper64
    MLForecast MakeInterval ManhattanDistance Map MapCat MapContainsKey MapDelete MapFromEntries MapInsert
    MapKeys MapPick MapSize MatchAgainst Max Median Min Minhash MinhashCombine Minute Mode Month Monthname
    MonthsBetween Nanvl Negative NetFunc NextDay NextValueFor Normal Normalize NthValue Ntile Nullif
    NumberToStr Nvl2 ObjectAgg ObjectId ObjectInsert ObjectTransform OpenJSON Or Overlay Pad
    ParameterizedAgg ParseBignumeric ParseDatetime ParseIp ParseJSON ParseNumeric ParseTime ParseUrl
    PercentRank PercentileCont PercentileDisc Pi Posexplode PosexplodeOuter Pow Predict PreviousDay
    Quantile Quarter Radians Rand Randn Randstr RangeBucket RangeN Rank Reduce RegDomain RegexpCount
    RegexpExtract RegexpExtractAll RegexpFullMatch RegexpILike RegexpInstr RegexpLike RegexpReplace
    RegexpSplit RegexpSubstr RegrAvgx RegrAvgy RegrCount RegrIntercept RegrR2 RegrSlope RegrSxx RegrSxy
    RegrSyy RegrValx RegrValy Repeat Replace Reverse Right Rint Round RowNumber RtrimmedLength SHA
    SHA1Digest SHA2 SHA2Digest SafeAdd SafeConvertBytesToString SafeDivide SafeFunc SafeMultiply
    SafeNegate SafeSubtract Search SearchIp Sec Sech Second Seq1 Seq2 Seq4 Seq8 SessionUser Shuffle Sign
    Sin Sinh Skewness Soundex SoundexP123 Space Split SplitPart SplitToTable Sqrt StDistance StPoint Stack
    StandardHash StarMap StartsWith Stddev StddevPop StddevSamp StrPosition StrToDate StrToMap StrToTime
    StrToUnix String StringToArray StripNullValue Strtok StrtokSplitToTable StrtokToArray Struct
    StructExtract Stuff Substring SubstringIndex Sum Systimestamp Tan Tanh Time TimeAdd TimeDiff
    TimeFromParts TimeSlice TimeStrToDate TimeStrToTime TimeStrToUnix TimeSub TimeToStr TimeToTimeStr
    TimeToUnix TimeTrunc Timestamp TimestampAdd TimestampDiff TimestampFromParts TimestampLtzFromParts
    TimestampSub TimestampTrunc TimestampTzFromParts ToArray ToBase32 ToBase64 ToBinary ToBoolean ToChar
    ToCodePoints ToDays ToDecfloat ToDouble ToMap ToNumber ToVariant Transform Translate Trim Trunc Try
    TryBase64DecodeBinary TryBase64DecodeString TryCast TryHexDecodeBinary TryHexDecodeString
    TryToDecfloat TsOrDiToDi TsOrDsAdd TsOrDsDiff TsOrDsToDate TsOrDsToDateStr TsOrDsToDatetime
    TsOrDsToTime TsOrDsToTimestamp Typeof Unhex Unicode Uniform UnixDate UnixMicros UnixMillis UnixSeconds
    UnixToStr UnixToTime UnixToTimeStr Unnest Upper UtcDate UtcTime UtcTimestamp Uuid VarMap Variance
    VariancePop Week WeekOfYear WeekStart WeightString WidthBucket XMLElement XMLGet XMLTable Xor Year
    YearOfWeek YearOfWeekIso Zipf _ExplodeOuter
    """
)


def _classes(names: frozenset[str]) -> frozenset[type[exp.Expr]]:
    found = (getattr(exp, name, None) for name in names)
    return frozenset(kind for kind in found if kind is not None)


UNDERSTOOD: Final = _classes(_STRUCTURE | _CHANGES | _FUNCTIONS)
