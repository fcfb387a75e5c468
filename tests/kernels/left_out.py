"""Public names that the differential run has no row for, by the reason."""

LEFT_OUT = {
    "random numbers, of which each library has its own": """
        ops.bernoulli ops.bernoulli_ ops.bernoulli_ext ops.choice_with_mask ops.dropout ops.dropout1d ops.dropout2d ops.dropout3d
        ops.exponential_ ops.gamma ops.laplace ops.log_uniform_candidate_sampler ops.multinomial ops.multinomial_with_replacement
        ops.normal ops.normal_ ops.poisson ops.rand ops.rand_like ops.randint ops.randint_like ops.randn ops.randn_like ops.random_
        ops.random_categorical ops.random_gamma ops.random_poisson ops.randperm ops.rrelu ops.shuffle ops.standard_laplace
        ops.standard_normal ops.uniform ops.uniform_ ops.uniform_candidate_sampler ops.fractional_max_pool2d ops.fractional_max_pool3d
        nn.Dropout nn.Dropout1d nn.Dropout2d nn.Dropout2dExt nn.Dropout3d nn.DropoutExt nn.FractionalMaxPool2d
        nn.FractionalMaxPool3d nn.SampledSoftmaxLoss mint.bernoulli mint.multinomial mint.normal mint.rand mint.rand_like mint.randint
        mint.randint_like mint.randn mint.randn_like mint.randperm mint.nn.Dropout mint.nn.Dropout2d mint.nn.functional.dropout
        mint.nn.functional.dropout2d mint.empty mint.empty_like""",
    "no numbers to compare: functions of functions, of containers, of types and of the state of the program": """
        ops.add_flags ops.array_to_scalar ops.bool_and ops.bool_eq ops.bool_not ops.bool_or ops.cond ops.constexpr ops.deepcopy
        ops.depend ops.derivative ops.dict_getitem ops.dtype ops.dyn_shape ops.eps ops.from_jax ops.get_grad ops.grad ops.identity
        ops.in_dict ops.is_ ops.is_complex ops.is_floating_point ops.is_nonzero ops.is_not ops.is_tensor ops.isconstant ops.jacfwd
        ops.jacrev ops.jet ops.jvp ops.linearize ops.list_equal ops.list_getitem ops.list_len ops.make_list ops.make_slice
        ops.make_tuple ops.mixed_precision_cast ops.not_in_dict ops.numel ops.partial ops.prim_arg_register ops.prim_attr_register
        ops.print_ ops.rank ops.scalar_add ops.scalar_cast ops.scalar_div ops.scalar_eq ops.scalar_floordiv ops.scalar_ge
        ops.scalar_gt ops.scalar_le ops.scalar_log ops.scalar_lt ops.scalar_max ops.scalar_min ops.scalar_mod ops.scalar_mul
        ops.scalar_ne ops.scalar_pow ops.scalar_sub ops.scalar_to_array ops.scalar_to_tensor ops.scalar_uadd ops.scalar_usub ops.shape
        ops.shape_ ops.shape_mul ops.size ops.stop_gradient ops.string_concat ops.string_eq ops.tuple_equal ops.tuple_getitem
        ops.tuple_len ops.tuple_reversed ops.tuple_to_array ops.type_as ops.typeof ops.value_and_grad ops.vjp ops.vmap ops.cast
        mint.allclose mint.clone mint.constexpr mint.equal mint.item nn.Cell nn.CellDict nn.CellList nn.ForwardValueAndGrad
        nn.GradAccumulationCell nn.GraphCell nn.Jvp nn.Loss nn.LossBase nn.Metric nn.MicroBatchInterleaved nn.PipelineCell
        nn.SequentialCell nn.TimeDistributed nn.TrainOneStepCell nn.TrainOneStepWithLossScaleCell nn.Vjp nn.WithEvalCell
        nn.WithGradCell nn.WithLossCell nn.DistributedGradReducer nn.DynamicLossScaleUpdateCell nn.FixedLossScaleUpdateCell
        nn.get_activation nn.get_metric_fn nn.get_metrics nn.names nn.no_init_parameters nn.rearrange_inputs
        nn.register_cell_backward_hook nn.register_cell_backward_pre_hook nn.register_cell_forward_hook
        nn.register_cell_forward_pre_hook nn.ParameterUpdate""",
    "created from shapes and settings alone; tests/ops has their values": """
        ops.arange ops.bartlett_window ops.blackman_window ops.fftfreq ops.fill ops.fills ops.full ops.hamming_window ops.hann_window
        ops.kaiser_window ops.linspace ops.logspace ops.ones ops.range ops.rfftfreq ops.tensor_range ops.tril_indices ops.triu_indices
        ops.zeros mint.arange mint.full mint.linspace mint.ones mint.zeros nn.Range""",
    "complex numbers; tests/ops compares with numpy": """
        ops.eig ops.eigvals ops.fft ops.fft2 ops.fftn ops.fftshift ops.hfft ops.hfft2 ops.hfftn ops.ifft ops.ifft2 ops.ifftn
        ops.ifftshift ops.ihfft ops.ihfft2 ops.ihfftn ops.imag ops.irfft ops.irfft2 ops.irfftn ops.rfft ops.rfft2 ops.rfftn ops.stft
        ops.view_as_real ops.polar mint.imag mint.polar""",
    "not unique up to signs or order, or with results of another layout": """
        ops.geqrf ops.orgqr ops.ormqr ops.qr ops.lu_solve ops.lu_unpack ops.cholesky_inverse ops.cholesky_solve
        ops.log_matrix_determinant ops.unique_with_pad ops.coalesce mint.linalg.qr mint.unique""",
    "written in place; tests/ops has their values": """
        ops.assign ops.assign_add ops.assign_sub ops.clamp_ ops.erfinv_ ops.inplace_add ops.inplace_index_add ops.inplace_sigmoid
        ops.inplace_sub ops.inplace_update ops.scatter_add ops.scatter_div ops.scatter_max ops.scatter_min ops.scatter_mul
        ops.scatter_nd_add ops.scatter_nd_div ops.scatter_nd_max ops.scatter_nd_min ops.scatter_nd_mul ops.scatter_nd_sub
        ops.scatter_nd_update ops.scatter_update ops.tanh_ mint.nn.functional.elu_ mint.nn.functional.hardtanh_
        mint.nn.functional.relu_ mint.nn.functional.sigmoid_ mint.nn.functional.threshold_""",
    "other names of a function that has a row": """
        ops.accumulate_n ops.addn ops.baddbmm_ext ops.diff_ext ops.einsum_ext ops.embedding ops.expand ops.expand_as
        ops.float_power_ext ops.floor_div ops.floordiv ops.floormod ops.matrix_determinant ops.mse_loss_ext ops.pows ops.strided_slice
        ops.slice ops.tensor_floordiv ops.tensor_ge ops.tensor_gt ops.tensor_le ops.tensor_lt ops.tensor_mod ops.tensor_muls
        ops.tensor_slice ops.top_k ops.view_as nn.AvgPool1dExt nn.AvgPool2dExt nn.AvgPool3dExt nn.Conv2dBnAct nn.DenseBnAct nn.DiGamma
        nn.EmbeddingExt nn.HSigmoid nn.HSwish nn.Hardtanh nn.LeakyReLU nn.EmbeddingLookup nn.IGamma nn.InstanceNorm1d nn.InstanceNorm3d nn.L1LossExt nn.LGamma nn.LayerNormExt
        nn.LogSoftmaxExt nn.LRN nn.MatDet nn.MatInverse nn.MatMul nn.MatrixDiag nn.MatrixDiagPart nn.MatrixSetDiag nn.MaxPool2dExt
        nn.MaxUnpool1d nn.MaxUnpool2d nn.MaxUnpool3d nn.MultilabelMarginLoss nn.Norm nn.OneHot nn.PReLUExt nn.Pad nn.ReduceLogSumExp
        nn.Roll nn.SyncBatchNorm nn.Tril nn.TripletMarginLoss nn.TripletMarginWithDistanceLoss nn.Triu nn.Unfold nn.Upsample
        mint.nn.BatchNorm1d mint.nn.BatchNorm2d mint.nn.BatchNorm3d mint.nn.MaxUnpool2d mint.nn.SyncBatchNorm
        mint.nn.functional.flatten mint.nn.functional.max_unpool2d mint.nn.functional.upsample""",
    "MindSpore's alone; tests/ops and tests/nn compare with its values": """
        ops.flash_attention_score ops.multi_head_attention_forward
        ops.approximate_equal ops.batch_dot ops.batch_to_space_nd ops.bounding_box_decode ops.bounding_box_encode ops.bucketize
        ops.check_valid ops.clip_by_global_norm ops.col2im ops.crop_and_resize ops.ctc_greedy_decoder ops.fill_diagonal ops.intopk
        ops.iou ops.matrix_band_part ops.matrix_diag ops.matrix_diag_part ops.matrix_set_diag ops.max_unpool1d ops.mirror_pad
        ops.padding ops.population_count ops.repeat_elements ops.reverse_sequence ops.space_to_batch_nd ops.take ops.tensor_scatter_div
        ops.tensor_scatter_mul ops.unsorted_segment_prod nn.BleuScore nn.CTCLoss nn.CentralCrop nn.ClipByNorm nn.DiceLoss nn.FocalLoss
        nn.ImageGradients nn.L1Regularizer nn.LBeta nn.MSSSIM nn.Moments nn.MultiClassDiceLoss nn.MultiFieldEmbeddingLookup
        nn.MultiheadAttention nn.PSNR nn.SSIM nn.SoftmaxCrossEntropyWithLogits nn.SparseTensorDenseMatmul nn.Transformer
        nn.TransformerDecoder nn.TransformerDecoderLayer nn.TransformerEncoder nn.TransformerEncoderLayer""",
    "metrics, optimizers and learning rates, which have tests of their own": """
        nn.ASGD nn.Accuracy nn.AdaFactor nn.AdaMax nn.Adadelta nn.Adagrad nn.Adam nn.AdamOffload nn.AdamWeightDecay nn.ConfusionMatrix
        nn.ConfusionMatrixMetric nn.CosineDecayLR nn.Dice nn.ExponentialDecayLR nn.F1 nn.FTRL nn.Fbeta nn.HausdorffDistance
        nn.InverseDecayLR nn.LARS nn.Lamb nn.LazyAdam nn.LearningRateSchedule nn.MAE nn.MSE nn.MeanSurfaceDistance nn.Momentum
        nn.NaturalExpDecayLR nn.OcclusionSensitivity nn.Optimizer nn.Perplexity nn.PolynomialDecayLR nn.Precision nn.ProximalAdagrad
        nn.RMSProp nn.ROC nn.Recall nn.RootMeanSquareDistance nn.Rprop nn.SGD nn.Top1CategoricalAccuracy nn.Top5CategoricalAccuracy
        nn.TopKCategoricalAccuracy nn.WarmUpLR nn.auc nn.cosine_decay_lr nn.exponential_decay_lr nn.inverse_decay_lr
        nn.natural_exp_decay_lr nn.piecewise_constant_lr nn.polynomial_decay_lr nn.warmup_lr""",
}
NAMES = {name: reason for reason, names in LEFT_OUT.items() for name in names.split()}
